// SPDX-License-Identifier: Apache-2.0
// Augments the pictures in an array.
#pragma once

#include "runtime/data/Source.h"

namespace dlc {

// `source` with options.augmentation applied to array `key`, u8 [N, 3, H, W],
// [N, 1, H, W], [N, H, W, 3] or [N, H, W, 1], without a change of shape.
// Code::Usage if there is no such array.
Result<std::shared_ptr<const Source>>
augmentedArray(std::shared_ptr<const Source> source, std::string key,
               const SampleOptions &options);

} // namespace dlc
