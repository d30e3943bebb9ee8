// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/upgrade/Contrib.h"
#include <algorithm>

namespace dlc::import {
namespace {

void setNumber(onnx::NodeProto &node, const char *name, double value) {
  auto *attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::FLOAT);
  attribute->set_f(float(value));
}

std::string sum(Upgrade &up, const std::string &a, const std::string &b) {
  if (a.empty() || b.empty())
    return a.empty() ? b : a;
  up.add("Add", {a, b});
  return up.result();
}

/// Gelu and BiasGelu are exact, FastGelu is approximate; all but Gelu may have
/// a bias.
Status contribGelu(Upgrade &up) {
  std::string x = sum(up, up.input(0), up.input(1));
  onnx::NodeProto &node = up.add("Gelu", {x});
  if (up.node.op_type() == "FastGelu")
    setText(node, "approximate", "tanh");
  up.finish();
  return {};
}

/// x sigmoid(alpha x)
Status quickGelu(Upgrade &up) {
  setNumber(up.add("Swish", {up.input(0)}), "alpha",
            up.view.number("alpha", 1.702));
  up.finish();
  return {};
}

/// Adds the activation of a fused node, with its parameters in the order of the
/// given attributes.
void activate(Upgrade &up, const std::string &activation,
              const std::vector<float> &numbers) {
  static const std::map<std::string, std::vector<const char *>> names = {
      {"LeakyRelu", {"alpha"}},
      {"Elu", {"alpha"}},
      {"ThresholdedRelu", {"alpha"}},
      {"HardSigmoid", {"alpha", "beta"}}};
  std::string x = up.result();
  if (activation == "Clip") {
    std::string low, high;
    if (!numbers.empty())
      low = up.number(numbers[0]);
    if (numbers.size() > 1)
      high = up.number(numbers[1]);
    up.add("Clip", {x, low, high});
    return;
  }
  const bool isSwish = activation == "Silu" || activation == "SiLU";
  onnx::NodeProto &node = up.add(isSwish ? "Swish" : activation.c_str(), {x});
  if (auto it = names.find(activation); it != names.end())
    for (size_t i = 0; i < std::min(it->second.size(), numbers.size()); ++i)
      setNumber(node, it->second[i], numbers[i]);
}

Status fusedGemm(Upgrade &up) {
  std::vector<std::string> inputs(up.node.input().begin(),
                                  up.node.input().end());
  onnx::NodeProto &gemm = up.add("Gemm", inputs);
  setNumber(gemm, "alpha", up.view.number("alpha", 1));
  setNumber(gemm, "beta", up.view.number("beta", 1));
  setInteger(gemm, "transA", up.view.integer("transA", 0));
  setInteger(gemm, "transB", up.view.integer("transB", 0));
  std::vector<float> numbers;
  for (const char *name : {"alpha", "beta", "gamma"})
    if (std::string given = std::string("activation_") + name;
        up.view.has(given))
      numbers.push_back(float(up.view.number(given, 0)));
  if (std::string name = up.view.text("activation", ""); !name.empty())
    activate(up, name, numbers);
  up.finish();
  return {};
}

/// Matrix product of com.microsoft, with an activation.
Status fusedMatMulActivation(Upgrade &up) {
  onnx::NodeProto &product = up.add("FusedMatMul", {up.input(0), up.input(1)});
  product.set_domain("com.microsoft");
  std::vector<float> numbers;
  for (const auto &attribute : up.node.attribute())
    if (!attribute.name().starts_with("activation"))
      *product.add_attribute() = attribute;
  for (const char *name : {"alpha", "beta", "gamma"})
    if (std::string given = std::string("activation_") + name;
        up.view.has(given))
      numbers.push_back(float(up.view.number(given, 0)));
  activate(up, up.view.text("activation", ""), numbers);
  if (up.view.has("activation_axis"))
    setInteger(up.nodes.back(), "axis", up.view.integer("activation_axis", -1));
  up.finish();
  return {};
}

Status gemmFastGelu(Upgrade &up) {
  up.add("MatMul", {up.input(0), up.input(1)});
  setText(up.add("Gelu", {sum(up, up.result(), up.input(2))}), "approximate",
          "tanh");
  up.finish();
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

Status simplifiedNorm(Upgrade &up) {
  DLC_TRY(onlyFirst(up, 9));
  onnx::NodeProto &node =
      up.add("RMSNormalization", {up.input(0), up.input(1)});
  setInteger(node, "axis", up.view.integer("axis", -1));
  setNumber(node, "epsilon", up.view.number("epsilon", 1e-5));
  up.finish();
  return {};
}

/// Norm of input + skip + bias; the sum is the fourth result.
Status skipNorm(Upgrade &up) {
  const bool isSimple = up.node.op_type() != "SkipLayerNormalization";
  DLC_TRY(onlyFirst(up, 2));
  std::string x = sum(up, up.input(0), up.input(1));
  x = sum(up, x, up.input(isSimple ? 3 : 4));
  if (up.node.output_size() > 3 && !up.node.output(3).empty()) {
    up.nodes.back().set_output(0, up.node.output(3));
    x = up.node.output(3);
  }
  std::vector<std::string> inputs{x, up.input(2)};
  if (!isSimple && !up.input(3).empty())
    inputs.push_back(up.input(3));
  onnx::NodeProto &node =
      up.add(isSimple ? "RMSNormalization" : "LayerNormalization", inputs);
  setInteger(node, "axis", -1);
  setNumber(node, "epsilon", up.view.number("epsilon", 1e-12));
  up.finish();
  return {};
}

void copyAttributes(const onnx::NodeProto &from, onnx::NodeProto &to,
                    std::initializer_list<const char *> without) {
  for (const auto &attribute : from.attribute())
    if (std::find(without.begin(), without.end(), attribute.name()) ==
        without.end())
      *to.add_attribute() = attribute;
}

std::string transposed(Upgrade &up, const std::string &x,
                       const std::vector<int64_t> &perm) {
  auto *attribute = up.add("Transpose", {x}).add_attribute();
  attribute->set_name("perm");
  attribute->set_type(onnx::AttributeProto::INTS);
  for (int64_t d : perm)
    attribute->add_ints(d);
  return up.result();
}

const std::vector<int64_t> kToFirst{0, 3, 1, 2}, kToLast{0, 2, 3, 1};

/// Conv, plus Z if present, and an activation. With channels last, weights are
/// channels last too, except for NhwcFusedConv.
Status fusedConv(Upgrade &up) {
  const std::string &op = up.node.op_type();
  const bool isLast = op.starts_with("Nhwc");
  std::string x = up.input(0), w = up.input(1), z = up.input(3);
  if (isLast)
    x = transposed(up, x, kToFirst);
  if (op == "NhwcConv")
    w = transposed(up, w, kToFirst);
  onnx::NodeProto &conv = up.add("Conv", {x, w, up.input(2)});
  copyAttributes(up.node, conv, {"activation", "activation_params"});
  std::string y = up.result();
  if (!z.empty())
    sum(up, y, isLast ? transposed(up, z, kToFirst) : z);
  std::vector<float> numbers;
  if (const auto *given = up.view.find("activation_params"))
    numbers.assign(given->floats().begin(), given->floats().end());
  if (std::string name = up.view.text("activation", ""); !name.empty())
    activate(up, name, numbers);
  y = up.result();
  if (isLast)
    transposed(up, y, kToLast);
  up.finish();
  return {};
}

/// SkipGroupNorm: x + skip + bias is the second result.
Status contribGroupNorm(Upgrade &up) {
  const bool isLast = up.view.integer("channels_last", 1);
  std::string x = up.input(0);
  if (!up.input(3).empty()) {
    std::string skip = up.input(3);
    if (!up.input(4).empty())
      skip = sum(up, skip, up.input(4));
    x = sum(up, x, skip);
    if (up.node.output_size() > 1 && !up.node.output(1).empty()) {
      up.nodes.back().set_output(0, up.node.output(1));
      x = up.node.output(1);
    }
  }
  std::string first = isLast ? transposed(up, x, kToFirst) : x;
  up.add("CastLike", {up.input(1), x});
  std::string scale = up.result();
  up.add("CastLike", {up.input(2), x});
  onnx::NodeProto &node =
      up.add("GroupNormalization", {first, scale, up.result()});
  setInteger(node, "num_groups", up.view.integer("groups", 0));
  setNumber(node, "epsilon", up.view.number("epsilon", 1e-5));
  std::string y = up.result();
  if (up.view.integer("activation", 0))
    up.add("Swish", {y});
  y = up.result();
  if (isLast)
    transposed(up, y, kToLast);
  up.finish();
  return {};
}

/// (x + bias) is split in halves a, b; the result is a * Gelu(b).
Status biasSplitGelu(Upgrade &up) {
  std::string x = sum(up, up.input(0), up.input(1));
  onnx::NodeProto &split = up.add("Split", {x});
  setInteger(split, "axis", -1);
  setInteger(split, "num_outputs", 2);
  split.add_output(up.unique(split.output(0) + ".1"));
  std::string left = split.output(0), right = split.output(1);
  up.add("Gelu", {right});
  up.add("Mul", {left, up.result()});
  up.finish();
  return {};
}

Status biasAdd(Upgrade &up) {
  sum(up, sum(up, up.input(0), up.input(1)), up.input(2));
  up.finish();
  return {};
}

/// Dropout(x + bias) + residual
Status biasDropout(Upgrade &up) {
  DLC_TRY(onlyFirst(up, 1));
  std::string x = sum(up, up.input(0), up.input(1));
  up.add("Dropout", {x, up.input(3), up.input(4)});
  sum(up, up.result(), up.input(2));
  up.finish();
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
  std::string one = up.integers({1});
  setInteger(up.add("Cast", {up.input(1)}), "to", onnx::TensorProto::INT64);
  std::string axis = up.result();
  up.add("Reshape", {axis, one});
  up.add("Unsqueeze", {up.input(0), up.result()});
  up.finish();
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
