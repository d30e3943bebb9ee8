// SPDX-License-Identifier: Apache-2.0
// The graph's inputs and their symbolic dimensions.
#pragma once
#include "compiler/import/Importer.h"
#include "compiler/import/file/OnnxFile.h"
#include "compiler/import/tensor/HostTensor.h"
#include "mlir/IR/BuiltinTypes.h"

namespace dlc::import {

struct GraphInput {
  std::string name;
  mlir::RankedTensorType type;
  double number = 0; // each element's, of one that is known
};

struct GraphInputs {
  std::vector<GraphInput> all;
  std::vector<GraphInput> known; // those without elements, and fixed ones
  int64_t batch = 1;             // see ImportedModel
  /// Those that the file fixes at another batch, and which one that is.
  std::vector<std::string> rebatched;
  int64_t exportedBatch = 0;
};

/// The inputs that are not initializers, with static types. An error names the
/// input, the unbound dimension and the option that binds it.
Result<GraphInputs> bindInputs(const OnnxFile &file,
                               const ImportOptions &options,
                               mlir::MLIRContext &context);

HostTensor valueOfKnown(const GraphInput &input);

/// What is to be said of inputs that are the same for all samples, and of known
/// ones.
std::vector<std::string> remarksOn(const GraphInputs &inputs);

} // namespace dlc::import
