// SPDX-License-Identifier: Apache-2.0
// The ONNX nodes that an op came from, according to its location.
#pragma once

#include "compiler/dialect/Locations.h"
#include <string>

namespace dlc {

using ir::nodeNames;

/// The names as one text, "conv1; relu1", with " (again)" appended for a
/// command that repeats an earlier one.
std::string locationLabel(mlir::Location loc);
/// The location of a command that repeats the one at `loc`.
mlir::Location repeated(mlir::Location loc);

} // namespace dlc
