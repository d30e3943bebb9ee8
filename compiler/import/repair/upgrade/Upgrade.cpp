// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/GraphEdit.h"
#include "compiler/import/file/OnnxFile.h"
#include "compiler/import/repair/upgrade/Upgrading.h"

namespace dlc::import {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

void drop(NodeProto &node, const std::string &name) {
  eraseWhere(*node.mutable_attribute(),
             [&](auto &a) { return a.name() == name; });
}
void setInput(NodeProto &node, int slot, const std::string &name) {
  while (node.input_size() <= slot)
    node.add_input("");
  node.set_input(slot, name);
}

/// `attribute` of `op` became input `slot` in opset `until`.
struct Moved {
  const char *op;
  int until;
  const char *attribute;
  int slot;
};
constexpr Moved kMoved[] = {
    {"Clip", 11, "min", 1},
    {"Clip", 11, "max", 2},
    {"Dropout", 12, "ratio", 1},
    {"Pad", 11, "pads", 1},
    {"Pad", 11, "value", 2},
    {"ReduceL1", 18, "axes", 1},
    {"ReduceL2", 18, "axes", 1},
    {"ReduceLogSum", 18, "axes", 1},
    {"ReduceLogSumExp", 18, "axes", 1},
    {"ReduceMax", 18, "axes", 1},
    {"ReduceMean", 18, "axes", 1},
    {"ReduceMin", 18, "axes", 1},
    {"ReduceProd", 18, "axes", 1},
    {"ReduceSum", 13, "axes", 1},
    {"ReduceSumSquare", 18, "axes", 1},
    {"Slice", 10, "starts", 1},
    {"Slice", 10, "ends", 2},
    {"Slice", 10, "axes", 3},
    {"Split", 13, "split", 1},
    {"Squeeze", 13, "axes", 1},
    {"TopK", 10, "k", 1},
    {"Unsqueeze", 13, "axes", 1},
};

Status moveAttributes(Upgrade &up) {
  std::vector<std::pair<const Moved *, std::string>> values;
  for (const Moved &moved : kMoved) {
    if (up.view.opset >= moved.until || up.node.op_type() != moved.op)
      continue;
    const AttributeProto *given = up.view.find(moved.attribute);
    if (!given)
      continue;
    values.emplace_back(
        &moved,
        given->type() == AttributeProto::FLOAT ? up.number(given->f())
        : given->type() == AttributeProto::INT
            ? up.integers({given->i()})
            : up.integers({given->ints().begin(), given->ints().end()}));
  }
  if (values.empty())
    return {};
  NodeProto &node = up.same();
  for (const auto &[moved, value] : values) {
    setInput(node, moved->slot, value);
    drop(node, moved->attribute);
  }
  return {};
}

/// Softmax over all dimensions from `axis` on, flattened.
Status flattenSoftmax(Upgrade &up) {
  const int64_t axis = up.view.integer("axis", 1);
  if (up.view.opset >= 13 || axis == -1)
    return {};
  const std::string flat = up.add("Flatten", {up.input(0)}, {{"axis", axis}}),
                    y = up.add(up.node.op_type(), {flat}, {{"axis", -1}});
  up.add("Reshape", {y, up.add("Shape", {up.input(0)})});
  return {};
}

/// Upsample, and Resize of opset 10: asymmetric pixel coordinates.
Status upsample(Upgrade &up) {
  if (up.node.op_type() == "Resize" && up.view.opset >= 11)
    return {};
  std::string scales;
  if (const AttributeProto *given = up.view.find("scales")) {
    TensorProto tensor;
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.add_dims(given->floats_size());
    *tensor.mutable_float_data() = given->floats();
    scales = up.constant(tensor);
  } else {
    scales = up.node.input(1);
  }
  NodeProto &node = up.same();
  node.set_op_type("Resize");
  drop(node, "scales");
  setInput(node, 1, "");
  setInput(node, 2, scales);
  addAttributes(node, {{"coordinate_transformation_mode", "asymmetric"},
                       {"nearest_mode", "floor"}});
  return {};
}

/// The corners of regions were indices of pixels, not half a pixel before them.
Status roiAlign(Upgrade &up) {
  if (up.view.opset < 16)
    addAttributes(up.same(),
                  {{"coordinate_transformation_mode", "output_half_pixel"}});
  return {};
}

Status scatter(Upgrade &up) {
  up.same().set_op_type("ScatterElements");
  return {};
}

/// Scale and bias were per group.
Status groupNorm(Upgrade &up) {
  if (up.view.opset >= 21)
    return {};
  const int64_t groups = up.view.integer("num_groups", 1);
  const std::string channels = up.add("Shape", {up.input(0)},
                                      {{"start", 1}, {"end", 2}}),
                    count = up.integers({groups}),
                    each = up.add("Div", {channels, count}),
                    both = up.add("Concat", {count, each}, {{"axis", 0}}),
                    last = up.integers({1}), flat = up.integers({-1});
  std::string spread[2];
  for (int i = 0; i < 2; ++i) {
    up.add("Unsqueeze", {up.input(1 + i), last});
    up.add("Expand", {up.result(), both});
    spread[i] = up.add("Reshape", {up.result(), flat});
  }
  NodeProto &node = up.same();
  setInput(node, 1, spread[0]);
  setInput(node, 2, spread[1]);
  return {};
}

Status dft(Upgrade &up) {
  if (up.view.opset >= 20)
    return {};
  std::string axis = up.integers({up.view.integer("axis", 1)});
  NodeProto &node = up.same();
  drop(node, "axis");
  setInput(node, 2, axis);
  return {};
}

Status batchNorm(Upgrade &up) {
  if (up.view.integer("spatial", 1) == 0)
    return badModel("{}: statistics of each pixel (spatial = 0) are not "
                    "supported, expected those of each channel",
                    describe(up.node));
  if (up.view.has("spatial"))
    drop(up.same(), "spatial");
  return {};
}

const std::map<std::string, Rule> kRules = {
    {"BatchNormalization", batchNorm},
    {"DFT", dft},
    {"GroupNormalization", groupNorm},
    {"Hardmax", flattenSoftmax},
    {"LogSoftmax", flattenSoftmax},
    {"Resize", upsample},
    {"RoiAlign", roiAlign},
    {"Scatter", scatter},
    {"Softmax", flattenSoftmax},
    {"Upsample", upsample},
};

Result<std::vector<NodeProto>> applied(Rule rule, const NodeProto &node,
                                       int64_t opset,
                                       const UnusedName &unused) {
  Upgrade up(node, opset, unused);
  DLC_TRY(rule(up));
  if (!up.nodes.empty() && node.output_size())
    up.nodes.back().set_output(0, node.output(0));
  return std::move(up.nodes);
}

} // namespace

Result<std::vector<NodeProto>> upgraded(const NodeProto &node, int64_t opset,
                                        const UnusedName &unused) {
  const auto rule = kRules.find(operatorName(node));
  return applied(rule == kRules.end() ? moveAttributes : rule->second, node,
                 opset, unused);
}

Result<std::vector<NodeProto>> withoutContrib(const NodeProto &node,
                                              const UnusedName &unused) {
  const auto rule = contribRules().find(operatorName(node));
  if (node.domain().empty() || rule == contribRules().end())
    return std::vector<NodeProto>();
  return applied(rule->second, node, kNewestOpset, unused)
      .withContext(describe(node));
}

} // namespace dlc::import
