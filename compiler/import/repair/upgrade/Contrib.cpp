// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/upgrade/Upgrading.h"
#include <algorithm>

namespace dlc::import {
namespace {

std::string sum(Upgrade &up, const std::string &a, const std::string &b) {
  return a.empty() ? b : b.empty() ? a : up.add("Add", {a, b});
}

const Settings kTanh{{"approximate", "tanh"}};

/// Gelu and BiasGelu are exact, FastGelu is approximate; all but Gelu may have
/// a bias.
Status contribGelu(Upgrade &up) {
  up.add("Gelu", {sum(up, up.input(0), up.input(1))},
         up.node.op_type() == "FastGelu" ? kTanh : Settings());
  return {};
}

/// x sigmoid(alpha x)
Status quickGelu(Upgrade &up) {
  up.add("Swish", {up.input(0)}, {{"alpha", up.view.number("alpha", 1.702)}});
  return {};
}

/// Adds the activation of a fused node, with its parameters in the order of the
/// given attributes.
void activate(Upgrade &up, const std::vector<float> &numbers) {
  static const std::map<std::string, std::vector<const char *>> names = {
      {"LeakyRelu", {"alpha"}},
      {"Elu", {"alpha"}},
      {"ThresholdedRelu", {"alpha"}},
      {"HardSigmoid", {"alpha", "beta"}}};
  const std::string activation = up.view.text("activation", ""),
                    x = up.result();
  if (activation == "Clip") {
    std::string low, high;
    if (!numbers.empty())
      low = up.number(numbers[0]);
    if (numbers.size() > 1)
      high = up.number(numbers[1]);
    up.add("Clip", {x, low, high});
    return;
  }
  Settings settings;
  if (auto it = names.find(activation); it != names.end())
    for (size_t i = 0; i < std::min(it->second.size(), numbers.size()); ++i)
      settings.emplace_back(it->second[i], double(numbers[i]));
  const bool isSwish = activation == "Silu" || activation == "SiLU";
  up.add(isSwish ? "Swish" : activation, {x}, settings);
}

std::vector<float> activationNumbers(const Upgrade &up) {
  std::vector<float> numbers;
  for (const char *name :
       {"activation_alpha", "activation_beta", "activation_gamma"})
    if (up.view.has(name))
      numbers.push_back(float(up.view.number(name, 0)));
  return numbers;
}

Status fusedGemm(Upgrade &up) {
  up.add("Gemm", {up.node.input().begin(), up.node.input().end()},
         {{"alpha", up.view.number("alpha", 1)},
          {"beta", up.view.number("beta", 1)},
          {"transA", up.view.integer("transA", 0)},
          {"transB", up.view.integer("transB", 0)}});
  if (!up.view.text("activation", "").empty())
    activate(up, activationNumbers(up));
  return {};
}

void copyAttributes(const onnx::NodeProto &from, onnx::NodeProto &to) {
  for (const auto &attribute : from.attribute())
    if (!attribute.name().starts_with("activation"))
      *to.add_attribute() = attribute;
}

/// Matrix product of com.microsoft, with an activation.
Status fusedMatMulActivation(Upgrade &up) {
  up.add("com.microsoft.FusedMatMul", {up.input(0), up.input(1)});
  copyAttributes(up.node, up.nodes.back());
  activate(up, activationNumbers(up));
  if (up.view.has("activation_axis"))
    addAttributes(up.nodes.back(),
                  {{"axis", up.view.integer("activation_axis", -1)}});
  return {};
}

Status gemmFastGelu(Upgrade &up) {
  const std::string product = up.add("MatMul", {up.input(0), up.input(1)});
  up.add("Gelu", {sum(up, product, up.input(2))}, kTanh);
  return {};
}

/// An error if results 1 to `last` are used: only the standard
/// LayerNormalization outputs statistics.
Status onlyFirst(const Upgrade &up, int last) {
  for (int i = 1; i < up.node.output_size() && i <= last; ++i)
    if (!up.node.output(i).empty())
      return badModel("output {} is not supported", i);
  return {};
}

/// `sum`, which becomes this output of the node if that is used.
std::string given(Upgrade &up, const std::string &sum, int output) {
  if (up.nodes.empty() || up.node.output_size() <= output ||
      up.node.output(output).empty())
    return sum;
  up.nodes.back().set_output(0, up.node.output(output));
  return up.result();
}

Status simplifiedNorm(Upgrade &up) {
  DLC_TRY(onlyFirst(up, 9));
  up.add("RMSNormalization", {up.input(0), up.input(1)},
         {{"axis", up.view.integer("axis", -1)},
          {"epsilon", up.view.number("epsilon", 1e-5)}});
  return {};
}

/// Norm of input + skip + bias; the sum is the fourth result.
Status skipNorm(Upgrade &up) {
  const bool isSimple = up.node.op_type() != "SkipLayerNormalization";
  DLC_TRY(onlyFirst(up, 2));
  const std::string x =
      sum(up, sum(up, up.input(0), up.input(1)), up.input(isSimple ? 3 : 4));
  std::vector<std::string> inputs{given(up, x, 3), up.input(2)};
  if (!isSimple && !up.input(3).empty())
    inputs.push_back(up.input(3));
  up.add(isSimple ? "RMSNormalization" : "LayerNormalization", inputs,
         {{"axis", -1}, {"epsilon", up.view.number("epsilon", 1e-12)}});
  return {};
}

std::string channelsFirst(Upgrade &up, const std::string &x) {
  return up.add("Transpose", {x}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
}
void channelsLast(Upgrade &up) {
  up.add("Transpose", {up.result()},
         {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
}

/// Conv, plus Z if present, and an activation. With channels last, weights are
/// channels last too, except for NhwcFusedConv.
Status fusedConv(Upgrade &up) {
  const std::string &op = up.node.op_type();
  const bool isLast = op.starts_with("Nhwc");
  std::string x = up.input(0), w = up.input(1), z = up.input(3);
  if (isLast)
    x = channelsFirst(up, x);
  if (op == "NhwcConv")
    w = channelsFirst(up, w);
  const std::string y = up.add("Conv", {x, w, up.input(2)});
  copyAttributes(up.node, up.nodes.back());
  if (!z.empty())
    sum(up, y, isLast ? channelsFirst(up, z) : z);
  std::vector<float> numbers;
  if (const auto *given = up.view.find("activation_params"))
    numbers.assign(given->floats().begin(), given->floats().end());
  if (!up.view.text("activation", "").empty())
    activate(up, numbers);
  if (isLast)
    channelsLast(up);
  return {};
}

/// SkipGroupNorm: x + skip + bias is the second result.
Status contribGroupNorm(Upgrade &up) {
  const bool isLast = up.view.integer("channels_last", 1);
  std::string x = up.input(0);
  if (!up.input(3).empty())
    x = given(up, sum(up, x, sum(up, up.input(3), up.input(4))), 1);
  const std::string first = isLast ? channelsFirst(up, x) : x,
                    scale = up.add("CastLike", {up.input(1), x}),
                    bias = up.add("CastLike", {up.input(2), x});
  const std::string y = up.add("GroupNormalization", {first, scale, bias},
                               {{"num_groups", up.view.integer("groups", 0)},
                                {"epsilon", up.view.number("epsilon", 1e-5)}});
  if (up.view.integer("activation", 0))
    up.add("Swish", {y});
  if (isLast)
    channelsLast(up);
  return {};
}

/// (x + bias) is split in halves a, b; the result is a * Gelu(b).
Status biasSplitGelu(Upgrade &up) {
  const std::string x = sum(up, up.input(0), up.input(1)),
                    left = up.add("Split", {x},
                                  {{"axis", -1}, {"num_outputs", 2}}),
                    right = up.unique(left + ".1");
  up.nodes.back().add_output(right);
  up.add("Mul", {left, up.add("Gelu", {right})});
  return {};
}

Status biasAdd(Upgrade &up) {
  sum(up, sum(up, up.input(0), up.input(1)), up.input(2));
  return {};
}

/// Dropout(x + bias) + residual
Status biasDropout(Upgrade &up) {
  DLC_TRY(onlyFirst(up, 1));
  const std::string x = sum(up, up.input(0), up.input(1));
  sum(up, up.add("Dropout", {x, up.input(3), up.input(4)}), up.input(2));
  return {};
}

/// The equivalent operator of ai.onnx.
Status renamed(Upgrade &up) {
  onnx::NodeProto &node = up.same();
  node.clear_domain();
  for (auto &attribute : *node.mutable_attribute())
    if (attribute.name() == "mode" && attribute.s() == "bilinear")
      attribute.set_s("linear");
    else if (attribute.name() == "mode" && attribute.s() == "bicubic")
      attribute.set_s("cubic");
  return {};
}

Status expandDims(Upgrade &up) {
  const std::string one = up.integers({1}),
                    axis = up.add("Cast", {up.input(1)},
                                  {{"to", onnx::TensorProto::INT64}});
  up.add("Unsqueeze", {up.input(0), up.add("Reshape", {axis, one})});
  return {};
}

} // namespace

const std::map<std::string, Rule> &contribRules() {
  static const std::map<std::string, Rule> rules = {
      {"SimplifiedLayerNormalization", simplifiedNorm},
      {"com.microsoft.BiasAdd", biasAdd},
      {"com.microsoft.BiasDropout", biasDropout},
      {"com.microsoft.BiasGelu", contribGelu},
      {"com.microsoft.BiasSplitGelu", biasSplitGelu},
      {"com.microsoft.ExpandDims", expandDims},
      {"com.microsoft.FastGelu", contribGelu},
      {"com.microsoft.FusedConv", fusedConv},
      {"com.microsoft.FusedGemm", fusedGemm},
      {"com.microsoft.FusedMatMulActivation", fusedMatMulActivation},
      {"com.microsoft.GatherND", renamed},
      {"com.microsoft.Gelu", contribGelu},
      {"com.microsoft.GemmFastGelu", gemmFastGelu},
      {"com.microsoft.GridSample", renamed},
      {"com.microsoft.GroupNorm", contribGroupNorm},
      {"com.microsoft.NhwcConv", fusedConv},
      {"com.microsoft.NhwcFusedConv", fusedConv},
      {"com.microsoft.Pad", renamed},
      {"com.microsoft.QuickGelu", quickGelu},
      {"com.microsoft.SimplifiedLayerNormalization", simplifiedNorm},
      {"com.microsoft.SkipGroupNorm", contribGroupNorm},
      {"com.microsoft.SkipLayerNormalization", skipNorm},
      {"com.microsoft.SkipSimplifiedLayerNormalization", skipNorm},
      {"com.microsoft.Trilu", renamed},
  };
  return rules;
}

} // namespace dlc::import
