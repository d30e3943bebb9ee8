// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/file/NodeView.h"
#include "onnx-ml.pb.h"
#include <algorithm>

namespace dlc::import {

/// A note of the dynamo exporter, or a node path of the older one.
static bool isMarked(const onnx::NodeProto &node) {
  return node.name().starts_with('/') ||
         std::ranges::any_of(node.metadata_props(), [](const auto &note) {
           return note.key().starts_with("pkg.torch.");
         });
}

/// The same, or names of values that the older exporter folded.
static bool hasMarks(const onnx::GraphProto &graph) {
  return std::ranges::any_of(graph.node(), isMarked) ||
         std::ranges::any_of(graph.initializer(), [](const auto &tensor) {
           return tensor.name().starts_with("onnx::");
         });
}

bool isOfTorch(const onnx::ModelProto &model) {
  const std::string &name = model.producer_name();
  return name == "pytorch" ||
         (name.starts_with("onnxruntime") && hasMarks(model.graph()));
}

bool hasLostNotes(const onnx::ModelProto &model) {
  const auto &nodes = model.graph().node();
  return isOfTorch(model) && std::ranges::none_of(nodes, isMarked) &&
         std::ranges::any_of(nodes, [](const auto &node) {
           return node.name().starts_with("node_");
         });
}

bool isSavedByOnnxRuntime(const onnx::ModelProto &model) {
  return std::ranges::any_of(model.opset_import(), [](const auto &set) {
    return set.domain() == "com.microsoft.nchwc";
  });
}

static const InputBits kWeightInputs = {
    {"Attention", 0b110}, // com.microsoft's; ONNX's has values there
    {"BatchNormalization", 0b110},
    {"BiasAdd", 0b10},
    {"BiasDropout", 0b10},
    {"BiasGelu", 0b10},
    {"BiasSplitGelu", 0b10},
    {"Conv", 0b110},
    {"ConvTranspose", 0b110},
    {"DeformConv", 0b1010},
    {"Einsum", ~0U},
    {"EmbedLayerNormalization", 0b1111100},
    {"FastGelu", 0b10},
    {"FusedConv", 0b110},
    {"FusedGemm", 0b111},
    {"FusedMatMul", 0b11},
    {"GRU", 0b1110},
    {"Gather", 0b1},
    {"Gemm", 0b111},
    {"GroupNorm", 0b110},
    {"GroupNormalization", 0b110},
    {"GroupQueryAttention", 0b1100100000000000},
    {"InstanceNormalization", 0b110},
    {"LSTM", 0b1110},
    {"LayerNormalization", 0b110},
    {"MatMul", 0b11},
    {"MatMulNBits", 0b100000},
    {"MultiHeadAttention", 0b1000},
    {"NhwcConv", 0b110},
    {"NhwcFusedConv", 0b110},
    {"PRelu", 0b10},
    {"RMSNormalization", 0b110},
    {"RNN", 0b1110},
    {"RelativePositionBias", 0b1},
    {"SimplifiedLayerNormalization", 0b10},
    {"SkipGroupNorm", 0b10110},
    {"SkipLayerNormalization", 0b11100},
    {"SkipSimplifiedLayerNormalization", 0b1100},
    {"TransposeMatMul", 0b11},
};

bool hasInput(const InputBits &bits, const onnx::NodeProto &node, int input) {
  auto known = bits.find(node.op_type());
  return known != bits.end() && input < 32 && (known->second >> input & 1) != 0;
}

bool isSettingOperand(const onnx::NodeProto &node, int input) {
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

bool isWeightOperand(const onnx::NodeProto &node, int input) {
  return hasInput(kWeightInputs, node, input);
}

int64_t channelsOf(const onnx::NodeProto &node,
                   const std::vector<int64_t> &weight) {
  const std::string op = operatorName(node);
  const NodeView view(node, 0);
  int64_t count = 0;
  if (weight.size() < 2)
    return 0;
  if (op == "Conv")
    return weight[0];
  if (op == "Gemm")
    return weight[view.integer("transB", 0) ? 0 : 1];
  if (op == "ConvTranspose" &&
      !__builtin_mul_overflow(weight[1], view.integer("group", 1), &count))
    return count;
  return op == "MatMul" ? weight.back() : 0;
}

bool isRewritten(const onnx::NodeProto &node, std::string_view rule) {
  return std::ranges::any_of(node.metadata_props(), [&](const auto &note) {
    return note.key() == "pkg.onnxscript.rewriter.rule_name" &&
           note.value().find(rule) != std::string::npos;
  });
}

} // namespace dlc::import
