// The ONNX nodes that an op came from, as its locations tell.
#pragma once

#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace dlc {

/// The names of all NameLocs in `loc`, each once, in order.
llvm::SmallVector<llvm::StringRef> nodeNames(mlir::Location loc);
/// "conv1; relu1": the names in one text, "conv1; relu1 (again)" for a command
/// that repeats an earlier one.
std::string locationLabel(mlir::Location loc);
/// The location of a command that repeats the one at `loc`.
mlir::Location repeated(mlir::Location loc);

} // namespace dlc
