// SPDX-License-Identifier: Apache-2.0
// Samples that are shorter than a program takes, filled up.
#pragma once

#include "runtime/data/Source.h"

namespace dlc {

// How an array's samples grow: at the end of each axis, with `value` as the
// file would have it, before any scale.
struct Padding {
  std::string key;            // of the source
  std::vector<int64_t> shape; // of a sample, then; as many axes, none shorter
  double value = 0;
};

// The source with these arrays padded, others as they are. Code::Usage, naming
// array and value, if its type cannot hold it.
Result<std::shared_ptr<const Source>>
paddedSource(std::shared_ptr<const Source> source,
             const std::vector<Padding> &paddings);

} // namespace dlc
