// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/GraphEdit.h"
#include "compiler/import/repair/options/OptionRepairs.h"
#include "compiler/import/tensor/DataType.h"
#include "compiler/import/tensor/HostTensor.h"
#include "compiler/import/tensor/WeightStore.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace dlc::import {
namespace {

using onnx::TensorProto;

bool isOf(const onnx::NodeProto &node, const char *op) {
  return node.op_type() == op && node.domain().empty() &&
         node.input_size() >= 2 && node.output_size() == 1;
}

class QuantizedTrainer {
public:
  explicit QuantizedTrainer(OnnxFile &file) : file(file), edit(file) {}

  Result<int> run() {
    std::vector<onnx::NodeProto *> quantize, dequantize;
    for (auto &node : *edit.graph.mutable_node())
      if (isOf(node, "QuantizeLinear"))
        quantize.push_back(&node);
      else if (isOf(node, "DequantizeLinear"))
        dequantize.push_back(&node);
    if (dequantize.empty())
      return usageError(
          "--qat: the model has no DequantizeLinear node; make such a file of "
          "a trained model with onnxruntime.quantization.quantize_static and "
          "quant_format=QuantFormat.QDQ");
    for (onnx::NodeProto *node : dequantize)
      if (edit.weight(node->input(0)))
        DLC_TRY(trainIntegers(*node).withContext("--qat"));
    for (onnx::NodeProto *node : quantize)
      learnScale(*node);
    for (onnx::NodeProto *node : dequantize)
      if (!done.count(node))
        learnScale(*node);
    edit.close();
    DLC_TRY(putInOrder(file));
    file.remarks.push_back(
        {fmt::format("quantization-aware training: {} weights, {} biases, and "
                     "{} scales are trained",
                     weights, biases, scales)});
    return weights + biases + scales;
  }

private:
  /// Values of a scale or zero point: one in all, or one per slice.
  struct Slices {
    HostTensor numbers;
    int64_t inner = 1; // contiguous elements of a slice
    double at(int64_t i) const {
      return numbers.number(i / inner % numbers.elements());
    }
  };

  Result<Slices> slicesOf(const onnx::NodeProto &node, const Weight &part,
                          const std::vector<int64_t> &shape) const {
    Slices slices{HostTensor::from(part, {})};
    const NodeView view(node, file.opset);
    const int64_t rank = int64_t(shape.size());
    int64_t axis = view.integer("axis", 1);
    axis += axis < 0 ? rank : 0;
    if (part.elements() == 1)
      return slices;
    if (part.shape.size() != 1 || axis < 0 || axis >= rank ||
        part.elements() != shape[size_t(axis)])
      return badModel("{} has a scale or zero point of {} numbers, expected 1 "
                      "or one for each slice of its axis",
                      describe(node), part.elements());
    slices.inner = std::accumulate(shape.begin() + axis + 1, shape.end(),
                                   int64_t(1), std::multiplies());
    return slices;
  }

  /// Integers that several nodes read become one trained tensor.
  struct Trained {
    std::string reader;             // for messages
    std::vector<std::string> parts; // its scale and zero point
    std::string value, scale;       // what readers use now; scale "": a bias
  };
  static std::vector<std::string> partsOf(const onnx::NodeProto &node) {
    return {node.input().begin() + 1, node.input().end()};
  }

  Status readTrained(onnx::NodeProto &node, const Trained &before) {
    if (before.parts != partsOf(node))
      return badModel("{} reads '{}' with another scale or zero point than {}",
                      describe(node), printable(node.input(0)), before.reader);
    done.insert(&node);
    if (before.scale.empty()) {
      edit.remove(node);
      for (const Use &use : edit.uses(node.output(0)))
        edit.redirect(use, before.value);
      return {};
    }
    edit.redirect({&node, 0}, before.value);
    edit.redirect({&node, 1}, before.scale);
    return {};
  }

  Status trainIntegers(onnx::NodeProto &node) {
    const std::string name = node.input(0);
    if (auto before = trained.find(name); before != trained.end())
      return readTrained(node, before->second);
    const Weight whole = *edit.weight(name);
    const int type = edit.typeOf(name);
    const Weight *scale = edit.weight(node.input(1));
    const Weight *zero = edit.weight(inputOf(node, 2));
    if (type != TensorProto::INT8 && type != TensorProto::UINT8 &&
        type != TensorProto::INT32)
      return badModel("{} reads '{}' of type {}, expected INT8, UINT8 or "
                      "INT32",
                      describe(node), printable(name), onnxTypeName(type));
    if (!scale || scale->dtype != DType::F32 || (!zero && type != kBias))
      return badModel("{} needs a scale of type FLOAT and a zero point that "
                      "are initializers",
                      describe(node));
    const Slices none{HostTensor(DType::I32, {})};
    DLC_ASSIGN(Slices scales, slicesOf(node, *scale, whole.shape));
    DLC_ASSIGN(Slices zeros,
               zero ? slicesOf(node, *zero, whole.shape) : Result(none));
    const HostTensor numbers = HostTensor::from(whole, {});
    std::vector<float> floats;
    for (int64_t i = 0; i < whole.elements(); ++i)
      floats.push_back(float(numbers.number(i) - zeros.at(i)) *
                       float(scales.at(i)));
    const std::string own = bytesOf(floats, DType::F32);
    return type == kBias ? trainBias(node, whole.shape, own)
                         : trainWeight(node, whole.shape, own, type);
  }

  /// Replaces the node's output by a float bias; rounding it is negligible.
  Status trainBias(onnx::NodeProto &node, const std::vector<int64_t> &shape,
                   const std::string &bytes) {
    edit.remove(node);
    const std::string name = node.output(0);
    edit.ownInitializer(name, DType::F32, shape, bytes);
    trains(name, "a bias that the file has as INT32");
    done.insert(&node);
    trained[node.input(0)] = {describe(node), partsOf(node), name, ""};
    ++biases;
    return {};
  }

  Status trainWeight(onnx::NodeProto &node, const std::vector<int64_t> &shape,
                     const std::string &bytes, int type) {
    const std::string old = node.input(0), base = withoutEnd(old, "_quantized"),
                      name =
                          edit.unusedName(base == old ? old + "_float" : base),
                      quantized = edit.unusedName(name + "_QuantizeLinear");
    edit.ownInitializer(name, DType::F32, shape, bytes);
    trains(name, "a weight that the file has as integers");
    const std::string scale = learned(node.input(1), name, type, true);
    auto &quantize =
        edit.addNode("QuantizeLinear", {name, scale, node.input(2)}, quantized);
    for (const auto &attribute : node.attribute())
      if (attribute.name() == "axis")
        *quantize.add_attribute() = attribute;
    trained[old] = {describe(node), partsOf(node), quantized, scale};
    edit.redirect({&node, 0}, quantized);
    edit.redirect({&node, 1}, scale);
    done.insert(&node);
    ++weights;
    return {};
  }

  /// Trains the scale of activations.
  void learnScale(onnx::NodeProto &node) {
    const Weight *scale = edit.weight(node.input(1));
    if (!scale || scale->dtype != DType::F32)
      return;
    const std::string zero = inputOf(node, 2);
    const int type =
        edit.weight(zero) ? edit.typeOf(zero) : int(TensorProto::UINT8);
    edit.redirect({&node, 1},
                  learned(node.input(1), node.input(0), type, false));
  }

  /// The scale that the quantisation of `x` reads.
  std::string learned(const std::string &scale, const std::string &x, int type,
                      bool ofWeight) {
    if (!file.roles.count(scale)) {
      trains(scale, "a scale of quantized values");
      ++scales;
    }
    return edit.add("ai.dlc.LearnedScale", {scale, x}, scale + "_learned",
                    {{"high", type == TensorProto::UINT8 ? 255 : 127},
                     {"of_weight", ofWeight}});
  }

  void trains(const std::string &name, const char *what) {
    file.roles[name] = Role::Param;
    file.decisions.push_back(
        {name, "quantized", fmt::format("{}, trained by --qat", what)});
  }

  static constexpr int kBias = TensorProto::INT32;

  OnnxFile &file;
  GraphEdit edit;
  int weights = 0, biases = 0, scales = 0; // trained tensors
  std::unordered_set<const onnx::NodeProto *> done;
  std::unordered_map<std::string, Trained> trained; // by the integers' name
};

} // namespace

std::string quantizedWeights(const OnnxFile &file) {
  const auto count = std::ranges::count_if(file.nodes, [&](const auto *node) {
    const Weight *weight = isOf(*node, "DequantizeLinear")
                               ? file.weights.find(node->input(0))
                               : nullptr;
    return weight && weight->shape.size() > 1;
  });
  return count ? fmt::format("{} weights are integers of a quantized file, and "
                             "are not trained; --qat trains them",
                             count)
               : "";
}

Result<int> trainQuantized(OnnxFile &file) {
  return QuantizedTrainer(file).run();
}

} // namespace dlc::import
