// SPDX-License-Identifier: Apache-2.0
// Pads samples that are shorter than a program's inputs.
#pragma once

#include "runtime/data/Source.h"

namespace dlc {

// Padding of an array's samples at the end of each axis, with `value` in the
// file's type, before any scale.
struct Padding {
  std::string key;            // of the source
  std::vector<int64_t> shape; // padded sample shape: same rank, no axis shorter
  double value = 0;
};

// The source with these arrays padded. Code::Usage, with array and value, if
// the array's type cannot represent the value.
Result<std::shared_ptr<const Source>>
paddedSource(std::shared_ptr<const Source> source,
             const std::vector<Padding> &paddings);

} // namespace dlc
