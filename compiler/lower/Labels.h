// SPDX-License-Identifier: Apache-2.0
// The ONNX nodes that an op came from, as its locations tell.
#pragma once

#include "compiler/dialect/Locations.h"
#include <string>

namespace dlc {

using ir::nodeNames;

/// "conv1; relu1": the names in one text, "conv1; relu1 (again)" for a command
/// that repeats an earlier one.
std::string locationLabel(mlir::Location loc);
/// The location of a command that repeats the one at `loc`.
mlir::Location repeated(mlir::Location loc);

} // namespace dlc
