// SPDX-License-Identifier: Apache-2.0
// Pictures in arrays: a source in which those of one array are augmented.
#pragma once

#include "runtime/data/Source.h"

namespace dlc {

// `source` with the pictures of array `key`, u8 [N, 3, H, W], [N, 1, H, W],
// [N, H, W, 3] or [N, H, W, 1], as options.augmentation makes them, in the same
// shape. Code::Usage: it has no such array.
Result<std::shared_ptr<const Source>>
augmentedArray(std::shared_ptr<const Source> source, std::string key,
               const SampleOptions &options);

} // namespace dlc
