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
  double number = 0; // value of all elements of a known input
};

struct GraphInputs {
  std::vector<GraphInput> all;
  std::vector<GraphInput> known; // inputs without elements, and fixed ones
  int64_t batch = 1;             // see ImportedModel
  /// Names of inputs that the file fixes at another batch, and that batch.
  std::vector<std::string> rebatched;
  int64_t exportedBatch = 0;
};

/// The inputs that are not initializers, with static types. Errors name the
/// input, the unbound dimension and the option that binds it.
Result<GraphInputs> bindInputs(const OnnxFile &file,
                               const ImportOptions &options,
                               mlir::MLIRContext &context);

HostTensor valueOfKnown(const GraphInput &input);

/// Messages about inputs that are shared by all samples, and about known
/// inputs.
std::vector<std::string> remarksOn(const GraphInputs &inputs);

} // namespace dlc::import
