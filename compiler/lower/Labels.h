// The ONNX nodes that an op came from, as its locations tell.
#pragma once

#include "mlir/IR/Location.h"
#include <string>

namespace dlc {

/// "conv1; relu1": the names of all NameLocs in `loc`, each once, in order;
/// empty when there are none.
std::string locationLabel(mlir::Location loc);

} // namespace dlc
