// SPDX-License-Identifier: Apache-2.0
// Batch norms of a state dict, for a model whose exporter folded them into the
// layers before them.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace onnx {
class NodeProto;
}

namespace dlc::import {

class TorchNotes;

/// A batch norm that was folded into a layer.
struct FoldedNorm {
  std::string name;                      // "layer1.0.bn1"
  double epsilon = 1e-5, momentum = 0.1; // as torch has them
};

/// From the call that torch's dynamo exporter noted on the fused node.
std::optional<FoldedNorm> notedNorm(const TorchNotes &notes,
                                    const onnx::NodeProto &layer);

/// What foldGivenNorms did.
struct GivenNorms {
  std::vector<std::string> done; // "conv1 with bn1"
  std::set<std::string> left; // folded tensors of layers whose norm is not told
  std::set<std::string> added; // biases that layers got
};

/// Where `given`, a state dict in the model's names, has a layer and its batch
/// norm apart: folds the norm into the layer's weight and bias, as the exporter
/// did; norms that --unfold-bn renewed get the values under their names in the
/// model. Which norm is whose say the exporter's notes, else the names
/// ("conv1", "bn1"; "0", "1"; the order in one module), with torch's epsilon
/// unless another one gives the values of the model's file again: a Decision
/// to warn of each that names alone tell.
GivenNorms foldGivenNorms(OnnxFile &file, std::map<std::string, Weight> &given);

} // namespace dlc::import
