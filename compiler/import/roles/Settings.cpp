// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/roles/Settings.h"
#include "compiler/import/file/Conventions.h"
#include "compiler/import/file/NodeView.h"
#include "onnx-ml.pb.h"

namespace dlc::import {

bool isSetting(const onnx::NodeProto &node, int input) {
  static const InputBits settings = {
      {"DequantizeLinear", 0b10},
      {"GatherBlockQuantized", ~0b11U},
      {"GroupQueryAttention", 0b110000000},
      {"MatMulBnb4", ~0U},
      {"MatMulNBits", ~0b100001U},
      {"NegativeLogLikelihoodLoss", 0b100},
      {"QuantizeLinear", 0b10},
      {"RotaryEmbedding", ~0b1U},
      {"SoftmaxCrossEntropyLoss", 0b100},
  };
  return node.op_type().starts_with("QLinear") ||
         hasInput(settings, node, input);
}

bool isDifferentiated(const onnx::NodeProto &node, int input) {
  if (operatorName(node) != "ai.onnx.preview.training.Gradient")
    return false;
  const auto *xs = NodeView(node, 1).find("xs");
  return xs && input < xs->strings_size();
}

bool isCodes(const std::string &tensor, const onnx::NodeProto *node) {
  return node && node->op_type() == "MatMulNBits" && node->input_size() > 1 &&
         node->input(1) == tensor;
}

} // namespace dlc::import
