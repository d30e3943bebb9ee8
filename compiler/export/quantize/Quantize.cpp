// SPDX-License-Identifier: Apache-2.0
#include "compiler/export/quantize/Quantize.h"

#include "compiler/export/quantize/GraphIndex.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace dlc::exporter {
namespace {

bool isWeighted(const onnx::NodeProto &node) {
  return node.domain().empty() &&
         (node.op_type() == "Conv" || node.op_type() == "Gemm" ||
          node.op_type() == "MatMul");
}

std::string labelOf(const onnx::NodeProto &node) {
  return !node.name().empty() || node.output_size() == 0 ? node.name()
                                                         : node.output(0);
}

/// Where a node's weight is, and which of its dimensions are output channels.
struct WeightPlace {
  onnx::TensorProto *tensor = nullptr;
  onnx::NodeProto *reader = nullptr; // the node, or a Transpose before it
  int input = 0;                     // of the reader
  int axis = 0;                      // of the tensor
  std::string why;                   // there is none
};

WeightPlace weightOf(onnx::NodeProto &node, const GraphIndex &index) {
  WeightPlace place;
  place.reader = &node, place.input = 1;
  std::string name = node.input(1);
  onnx::NodeProto *before = index.maker(name);
  const onnx::AttributeProto *perm = nullptr;
  if (before && before->op_type() == "Transpose" &&
      index.readers(name).size() == 1 && !index.isFixed(name)) {
    perm = attributeOf(*before, "perm");
    place.reader = before, place.input = 0;
    name = before->input(0);
  }
  place.tensor = index.initializer(name);
  if (!place.tensor) {
    place.why = "its second input is no weight of the model";
    return place;
  }
  const int rank = place.tensor->dims_size();
  if (place.tensor->data_type() != onnx::TensorProto::FLOAT)
    place.why = "its weight '" + name + "' is not f32";
  else if (node.op_type() != "Conv" && rank != 2)
    place.why = "its weight '" + name + "' is no matrix";
  else if (place.tensor->raw_data().empty())
    place.why = "its weight '" + name + "' has no elements";
  else if (index.initializer(node.input(0)))
    place.why = "its first input is a constant";
  if (!place.why.empty()) {
    place.tensor = nullptr;
    return place;
  }
  const bool isFirst =
      node.op_type() == "Conv" ||
      (node.op_type() == "Gemm" && integerOf(node, "transB", 0) != 0);
  place.axis = isFirst ? 0 : rank - 1;
  if (place.reader != &node) // output dimension i is the tensor's perm[i]
    place.axis = perm ? int(perm->ints(place.axis)) : rank - 1 - place.axis;
  return place;
}

struct Quantized {
  std::vector<float> scales;
  std::string bytes;
};

/// i8, symmetric, a scale for each slice of the axis, no smaller than `least`
/// says, if it is not empty.
Quantized quantizeWeight(const onnx::TensorProto &tensor, int axis,
                         const std::vector<float> &least) {
  const std::vector<float> values = floatsOf(tensor);
  size_t inner = 1;
  for (int i = axis + 1; i < tensor.dims_size(); ++i)
    inner *= size_t(tensor.dims(i));
  const auto channels = size_t(tensor.dims(axis));
  const auto channelOf = [&](size_t i) { return i / inner % channels; };
  Quantized result{std::vector<float>(channels), {}};
  for (size_t i = 0; i < values.size(); ++i)
    result.scales[channelOf(i)] =
        std::max(result.scales[channelOf(i)], std::abs(values[i]));
  for (size_t c = 0; c < channels; ++c) {
    float &scale = result.scales[c];
    scale = std::max(scale / 127, least.empty() ? 0 : least[c]);
    scale = scale > 0 ? scale : 1;
  }
  for (size_t i = 0; i < values.size(); ++i)
    result.bytes += char(int8_t(
        std::clamp(std::nearbyint(values[i] / result.scales[channelOf(i)]),
                   -127.f, 127.f)));
  return result;
}

struct Scale {
  float scale = 1;
  int8_t zero = 0;
};

Scale scaleOf(ValueRange range) {
  const float low = std::min(range.low, 0.f), high = std::max(range.high, 0.f);
  const float scale = float((double(high) - double(low)) / 255);
  if (!(scale > 0))
    return {};
  const double zero = std::nearbyint(-128 - double(low) / double(scale));
  return {scale, int8_t(std::clamp(zero, -128.0, 127.0))};
}

/// Makes the pairs; nodes are collected, as the graph's may not move.
class Writer {
public:
  explicit Writer(GraphIndex &index) : index_(index) {}

  /// The dequantized value of an activation.
  std::string activation(const std::string &value, Scale scale) {
    auto &made = activations_[value];
    if (!made.empty())
      return made;
    const std::string s = tensor(value + "_scale", {scale.scale}, {});
    const std::string z = bytes(value + "_zero_point", onnx::TensorProto::INT8,
                                {}, std::string(1, char(scale.zero)));
    const std::string q = index_.unusedName(value + "_QuantizeLinear_Output");
    made = index_.unusedName(value + "_DequantizeLinear_Output");
    node("QuantizeLinear", value, {value, s, z}, q, {});
    node("DequantizeLinear", value, {q, s, z}, made, {});
    return made;
  }

  struct Weight {
    std::string value; // dequantized
    std::vector<float> scales;
  };
  const Weight &weight(const onnx::TensorProto &from, int axis,
                       const std::vector<float> &least) {
    auto [found, isNew] =
        weights_.try_emplace(std::pair(from.name(), axis), Weight());
    Weight &made = found->second;
    if (!isNew)
      return made;
    Quantized quantized = quantizeWeight(from, axis, least);
    const std::string &name = from.name();
    onnx::TensorProto &whole = tensors.emplace_back();
    whole.set_name(index_.unusedName(name + "_quantized"));
    whole.set_data_type(onnx::TensorProto::INT8);
    *whole.mutable_dims() = from.dims();
    whole.set_raw_data(std::move(quantized.bytes));
    const std::string q = whole.name();
    made.scales = std::move(quantized.scales);
    const auto count = int64_t(made.scales.size());
    const std::string s = tensor(name + "_scale", made.scales, {count});
    const std::string z = bytes(name + "_zero_point", onnx::TensorProto::INT8,
                                {count}, std::string(size_t(count), 0));
    made.value = index_.unusedName(name + "_DequantizeLinear_Output");
    node("DequantizeLinear", name, {q, s, z}, made.value, axis);
    return made;
  }

  /// None: it has no room in an i32.
  std::optional<std::string> bias(const onnx::TensorProto &from, float input,
                                  const std::vector<float> &weight) {
    const std::vector<float> values = floatsOf(from);
    std::vector<float> scales;
    std::vector<int32_t> whole;
    for (size_t i = 0; i < values.size(); ++i) {
      scales.push_back(input * weight[i]);
      const double number =
          std::nearbyint(double(values[i]) / double(scales.back()));
      if (!(std::abs(number) <= INT32_MAX))
        return std::nullopt;
      whole.push_back(int32_t(number));
    }
    const auto count = int64_t(values.size());
    const std::string q =
        bytes(from.name() + "_quantized", onnx::TensorProto::INT32, {count},
              std::string(reinterpret_cast<const char *>(whole.data()),
                          whole.size() * sizeof(int32_t)));
    const std::string s = tensor(from.name() + "_scale", scales, {count});
    const std::string made =
        index_.unusedName(from.name() + "_DequantizeLinear_Output");
    node("DequantizeLinear", from.name(), {q, s}, made, 0);
    return made;
  }

  std::vector<onnx::NodeProto> nodes;
  std::vector<onnx::TensorProto> tensors;

private:
  std::string bytes(const std::string &name, int type,
                    const std::vector<int64_t> &dims, std::string content) {
    onnx::TensorProto &made = tensors.emplace_back();
    made.set_name(index_.unusedName(name));
    made.set_data_type(type);
    for (const int64_t dim : dims)
      made.add_dims(dim);
    made.set_raw_data(std::move(content));
    return made.name();
  }
  std::string tensor(const std::string &name, const std::vector<float> &values,
                     const std::vector<int64_t> &dims) {
    return bytes(name, onnx::TensorProto::FLOAT, dims,
                 std::string(reinterpret_cast<const char *>(values.data()),
                             values.size() * sizeof(float)));
  }
  void node(const std::string &op, const std::string &value,
            const std::vector<std::string> &inputs, const std::string &output,
            std::optional<int> axis) {
    onnx::NodeProto &made = nodes.emplace_back();
    made.set_op_type(op);
    made.set_name(index_.unusedName(value + "_" + op));
    for (const std::string &input : inputs)
      made.add_input(input);
    made.add_output(output);
    if (!axis)
      return;
    onnx::AttributeProto &attribute = *made.add_attribute();
    attribute.set_name("axis");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(*axis);
  }

  GraphIndex &index_;
  std::map<std::string, std::string> activations_;
  std::map<std::pair<std::string, int>, Weight> weights_;
};

/// So that the bias has room in an i32, with some to spare: channels of a norm
/// whose scale is almost 0 have a bias, and next to no weight.
std::vector<float> leastScales(const onnx::TensorProto *bias, float input) {
  std::vector<float> least;
  if (bias)
    for (const float b : floatsOf(*bias))
      least.push_back(std::abs(b) / input * 0x1p-30f);
  return least;
}

/// Its bias has a number for each output channel.
onnx::TensorProto *biasOf(const onnx::NodeProto &node, const GraphIndex &index,
                          size_t channels) {
  if (node.op_type() == "MatMul" || node.input_size() < 3 ||
      node.input(2).empty())
    return nullptr;
  onnx::TensorProto *bias = index.initializer(node.input(2));
  const bool fits = bias && bias->data_type() == onnx::TensorProto::FLOAT &&
                    bias->dims_size() == 1 &&
                    size_t(bias->dims(0)) == channels &&
                    bias->raw_data().size() == channels * sizeof(float);
  return fits ? bias : nullptr;
}

int64_t opsetOf(const onnx::ModelProto &model) {
  for (const auto &opset : model.opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx")
      return opset.version();
  return 0;
}

/// Each node behind all that it reads: new ones before the first reader.
void insertNodes(onnx::GraphProto &graph, std::vector<onnx::NodeProto> made) {
  std::unordered_map<std::string, size_t> makers;
  for (size_t i = 0; i < made.size(); ++i)
    makers[made[i].output(0)] = i;
  std::vector<bool> isPlaced(made.size());
  google::protobuf::RepeatedPtrField<onnx::NodeProto> all;
  const auto place = [&](const auto &self, const std::string &value) -> void {
    const auto found = makers.find(value);
    if (found == makers.end() || isPlaced[found->second])
      return;
    isPlaced[found->second] = true;
    for (const std::string &input : made[found->second].input())
      self(self, input);
    *all.Add() = std::move(made[found->second]);
  };
  for (auto &node : *graph.mutable_node()) {
    for (const std::string &input : node.input())
      place(place, input);
    *all.Add() = std::move(node);
  }
  graph.mutable_node()->Swap(&all);
}

} // namespace

Result<QuantizationPlan> planQuantization(const onnx::ModelProto &model) {
  if (const int64_t opset = opsetOf(model); opset < 13)
    return badModel("the model is of opset {}: int8 with a scale for each "
                    "channel needs 13 or newer; export the source with "
                    "opset_version=13 or more, and compile that",
                    opset);
  onnx::ModelProto copy = model; // the index may change what it is of
  GraphIndex index(*copy.mutable_graph());
  QuantizationPlan plan;
  std::unordered_set<std::string> seen;
  for (auto &node : *copy.mutable_graph()->mutable_node()) {
    if (node.op_type() == "QuantizeLinear" ||
        node.op_type() == "DequantizeLinear")
      return badModel("node '{}': the model is quantized already",
                      labelOf(node));
    if (!isWeighted(node)) {
      ++plan.otherOps[node.op_type()];
      continue;
    }
    const WeightPlace place = weightOf(node, index);
    if (!place.tensor) {
      plan.left.push_back({labelOf(node), node.op_type(), place.why});
      continue;
    }
    plan.nodes.push_back(labelOf(node));
    if (seen.insert(node.input(0)).second)
      plan.activations.push_back(node.input(0));
  }
  if (plan.nodes.empty())
    return failed("the model has no Conv, Gemm or MatMul with a weight of its "
                  "own to quantize{}",
                  plan.left.empty()
                      ? ""
                      : fmt::format(": node '{}': {}", plan.left[0].node,
                                    plan.left[0].why));
  return plan;
}

std::vector<std::string> observe(onnx::ModelProto &model,
                                 const std::vector<std::string> &values) {
  onnx::GraphProto &graph = *model.mutable_graph();
  GraphIndex index(graph);
  std::set<std::string> outputs;
  for (const auto &output : graph.output())
    outputs.insert(output.name());
  std::vector<std::string> names;
  for (const std::string &value : values) {
    std::string name = value;
    if (!index.maker(value)) {
      name = index.unusedName(value + "_observed");
      onnx::NodeProto &copy = *graph.add_node();
      copy.set_op_type("Identity");
      copy.add_input(value);
      copy.add_output(name);
    }
    names.push_back(name);
    if (!outputs.insert(name).second)
      continue;
    onnx::ValueInfoProto &output = *graph.add_output();
    output.set_name(name);
    output.mutable_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::FLOAT);
  }
  return names;
}

std::vector<std::string>
quantize(onnx::ModelProto &model,
         const std::map<std::string, ValueRange> &ranges) {
  onnx::GraphProto &graph = *model.mutable_graph();
  GraphIndex index(graph);
  Writer writer(index);
  std::vector<std::string> keptBiases;
  for (auto &node : *graph.mutable_node()) {
    const WeightPlace place =
        isWeighted(node) ? weightOf(node, index) : WeightPlace();
    if (!place.tensor)
      continue;
    const Scale scale = scaleOf(ranges.at(node.input(0)));
    const onnx::TensorProto *bias =
        biasOf(node, index, size_t(place.tensor->dims(place.axis)));
    const auto &weight = writer.weight(*place.tensor, place.axis,
                                       leastScales(bias, scale.scale));
    const auto quantizedBias =
        bias ? writer.bias(*bias, scale.scale, weight.scales) : std::nullopt;
    if (quantizedBias)
      node.set_input(2, *quantizedBias);
    else if (node.op_type() != "MatMul" && node.input_size() > 2 &&
             !node.input(2).empty())
      keptBiases.push_back(node.input(2));
    node.set_input(0, writer.activation(node.input(0), scale));
    place.reader->set_input(place.input, weight.value);
  }
  insertNodes(graph, std::move(writer.nodes));
  for (auto &tensor : writer.tensors)
    *graph.add_initializer() = std::move(tensor);
  dropUnread(graph);
  return keptBiases;
}

} // namespace dlc::exporter
