// SPDX-License-Identifier: Apache-2.0
// Batch norms of a state dict, for a model whose exporter folded them into the
// preceding layers.
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
  double epsilon = 1e-5, momentum = 0.1; // torch's defaults
};

/// Parsed from the call that torch's dynamo exporter recorded on the fused
/// node.
std::optional<FoldedNorm> notedNorm(const TorchNotes &notes,
                                    const onnx::NodeProto &layer);

/// Result of foldGivenNorms.
struct GivenNorms {
  std::vector<std::string> done; // "conv1 with bn1"
  std::set<std::string> left;    // folded tensors of layers with unknown norms
  std::set<std::string> added;   // biases added to layers
};

/// If `given`, a state dict with the model's names, has a layer and its batch
/// norm separately, folds the norm into the layer's weight and bias, as the
/// exporter did. Norms that --unfold-bn added get the values of their names in
/// the model. Layers and norms are matched by the exporter's notes, else by
/// names ("conv1", "bn1"; "0", "1"; the order in a module). Epsilon is torch's
/// default unless another one reproduces the values of the model's file. Each
/// match by names alone is a Decision with a warning.
GivenNorms foldGivenNorms(OnnxFile &file, std::map<std::string, Weight> &given);

} // namespace dlc::import
