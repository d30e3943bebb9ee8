#include "compiler/import/forms/Contrib.h"

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

/// Gelu and BiasGelu are exact, FastGelu is not; all but the first may add a
/// bias.
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

Status fusedGemm(Upgrade &up) {
  std::vector<std::string> inputs(up.node.input().begin(),
                                  up.node.input().end());
  onnx::NodeProto &gemm = up.add("Gemm", inputs);
  setNumber(gemm, "alpha", up.view.number("alpha", 1));
  setNumber(gemm, "beta", up.view.number("beta", 1));
  setInteger(gemm, "transA", up.view.integer("transA", 0));
  setInteger(gemm, "transB", up.view.integer("transB", 0));
  const std::string activation = up.view.text("activation", "");
  if (!activation.empty()) {
    onnx::NodeProto &node = up.add(activation.c_str(), {up.result()});
    for (const char *name : {"alpha", "beta", "gamma"})
      if (std::string given = std::string("activation_") + name;
          up.view.has(given))
        setNumber(node, name, up.view.number(given, 0));
  }
  up.finish();
  return {};
}

/// Statistics are given by the standard operators of LayerNormalization only.
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

/// The norm of input + skip + bias, which is the fourth result.
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

/// Three results of equal size along the last dimension.
std::vector<std::string> thirds(Upgrade &up, const std::string &x) {
  onnx::NodeProto &split = up.add("Split", {x});
  setInteger(split, "axis", -1);
  setInteger(split, "num_outputs", 3);
  std::string first = split.output(0);
  split.add_output(up.unique(first + ".1"));
  split.add_output(up.unique(first + ".2"));
  return {split.output(0), split.output(1), split.output(2)};
}

/// The mask [B, Tk] of keys, 0 where one is not seen, as [B, 1, 1, Tk].
std::string keyMask(Upgrade &up, const std::string &mask) {
  setInteger(up.add("Cast", {mask}), "to", onnx::TensorProto::BOOL);
  std::string seen = up.result();
  up.add("Unsqueeze", {seen, up.integers({1, 2})});
  return up.result();
}

/// An additive bias and a mask of keys as one.
std::string joinedMask(Upgrade &up, std::string keys, const std::string &bias) {
  if (keys.empty())
    return bias;
  keys = keyMask(up, keys);
  if (bias.empty())
    return keys;
  onnx::TensorProto none;
  none.set_data_type(onnx::TensorProto::FLOAT);
  none.add_float_data(-3.4028234663852886e38f);
  up.add("CastLike", {up.constant(none), bias});
  up.add("Where", {keys, bias, up.result()});
  return up.result();
}

Status attend(Upgrade &up, const std::vector<std::string> &qkv,
              const std::string &mask) {
  DLC_TRY(onlyFirst(up, 9));
  std::vector<std::string> inputs = qkv;
  if (!mask.empty())
    inputs.push_back(mask);
  const int64_t heads = up.view.integer("num_heads", 0);
  onnx::NodeProto &node = up.add("Attention", inputs);
  setInteger(node, "q_num_heads", heads);
  setInteger(node, "kv_num_heads", heads);
  setInteger(node, "is_causal", up.view.integer("unidirectional", 0));
  if (up.view.number("scale", 0) != 0)
    setNumber(node, "scale", up.view.number("scale", 0));
  up.finish();
  return {};
}

Status refuseInputs(const Upgrade &up, std::initializer_list<int> inputs) {
  for (int i : inputs)
    if (!up.input(i).empty())
      return badModel("input {} ('{}') is not supported", i, up.input(i));
  return {};
}

/// One projection of the input to queries, keys and values.
Status contribAttention(Upgrade &up) {
  DLC_TRY(refuseInputs(up, {4, 6}));
  if (up.view.integer("do_rotary", 0) || up.view.has("qkv_hidden_sizes"))
    return badModel("do_rotary and qkv_hidden_sizes are not supported");
  up.add("MatMul", {up.input(0), up.input(1)});
  std::string projected = sum(up, up.result(), up.input(2));
  auto qkv = thirds(up, projected);
  return attend(up, qkv, joinedMask(up, up.input(3), up.input(5)));
}

Status multiHeadAttention(Upgrade &up) {
  DLC_TRY(refuseInputs(up, {6, 7, 8, 9}));
  std::vector<std::string> qkv{up.input(0), up.input(1), up.input(2)};
  if (qkv[1].empty() || qkv[2].empty())
    return badModel("packed queries, keys and values are not supported, "
                    "expected three inputs");
  if (!up.input(3).empty()) {
    auto bias = thirds(up, up.input(3));
    for (int i = 0; i < 3; ++i)
      qkv[i] = sum(up, qkv[i], bias[i]);
  }
  return attend(up, qkv, joinedMask(up, up.input(4), up.input(5)));
}

/// Positions come before the tables there.
Status contribRotary(Upgrade &up) {
  onnx::NodeProto &node = up.add(
      "RotaryEmbedding", {up.input(0), up.input(2), up.input(3), up.input(1)});
  for (const char *name : {"interleaved", "num_heads", "rotary_embedding_dim"})
    setInteger(node, name, up.view.integer(name, 0));
  up.finish();
  return {};
}

} // namespace

const std::map<std::string, Rule> &contribRules() {
  static const std::map<std::string, Rule> rules = {
      {"SimplifiedLayerNormalization", simplifiedNorm},
      {"com.microsoft.Attention", contribAttention},
      {"com.microsoft.BiasGelu", contribGelu},
      {"com.microsoft.FastGelu", contribGelu},
      {"com.microsoft.FusedGemm", fusedGemm},
      {"com.microsoft.Gelu", contribGelu},
      {"com.microsoft.MultiHeadAttention", multiHeadAttention},
      {"com.microsoft.QuickGelu", quickGelu},
      {"com.microsoft.RotaryEmbedding", contribRotary},
      {"com.microsoft.SimplifiedLayerNormalization", simplifiedNorm},
      {"com.microsoft.SkipLayerNormalization", skipNorm},
      {"com.microsoft.SkipSimplifiedLayerNormalization", skipNorm},
  };
  return rules;
}

} // namespace dlc::import
