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

struct GraphInputs {
  std::vector<GraphInput> all;
  int64_t batch = 1; // see ImportedModel
};

/// The inputs that are not initializers, with static types. An error names the
/// input, the unbound dimension and the option that binds it.
Result<GraphInputs> bindInputs(const OnnxFile &file,
                               const ImportOptions &options,
                               mlir::MLIRContext &context);

/// "inputs that are the same for all samples: ...", or "".
std::string sharedInputs(const GraphInputs &inputs);

} // namespace dlc::import
