// The graph's inputs and their symbolic dimensions.
#pragma once
#include "compiler/import/Importer.h"
#include "compiler/import/file/OnnxFile.h"
#include "mlir/IR/BuiltinTypes.h"

namespace dlc::import {

struct GraphInput {
  std::string name;
  mlir::RankedTensorType type;
};

/// The inputs that are not initializers, with static types. An error names the
/// input, the unbound dimension and the option that binds it.
Result<std::vector<GraphInput>> bindInputs(const OnnxFile &file,
                                           const ImportOptions &options,
                                           mlir::MLIRContext &context);

} // namespace dlc::import
