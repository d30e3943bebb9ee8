// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/roles/Evidence.h"
#include "compiler/import/roles/FixedNumbers.h"
#include "compiler/import/tensor/WeightStore.h"
#include "onnx-ml.pb.h"
#include "runtime/base/options/Pattern.h"
#include <cmath>
#include <re2/re2.h>
#include <set>

namespace dlc::import {
namespace {

constexpr int kLongestUse = 8;  // nodes between tensor and use
constexpr int kInputSteps = 8;  // from an input of the model to a statistic
constexpr int kKnownSteps = 12; // from an operand to the file's tensors

using OperatorNames = std::set<std::string>;

const OperatorNames kMoves = {"Identity", "Transpose", "Reshape", "Cast",
                              "CastLike", "Squeeze",   "Flatten", "Unsqueeze",
                              "Expand",   "Slice",     "Split"};
const OperatorNames kOfVariance = {"Sqrt", "Reciprocal", "Abs",
                                   "Exp",  "Clip",       "Neg"};
const OperatorNames kComputing = {"Add", "Sub", "Mul", "Div", "Pow", "Max"};
const OperatorNames kOfPixels = {"Resize", "Pad",    "Clip", "Concat",
                                 "Crop",   "Gather", "Slice"};

class UseOfBuffer : FlowWalk {
public:
  UseOfBuffer(const OnnxFile &file, const ValueFlow &flow)
      : FlowWalk(file, flow, kKnownSteps) {}

  /// An input of the model is normalised with it.
  bool normalisesInput(const std::string &value, int depth = 0) const {
    return anyReader(value, depth, [&](const onnx::NodeProto &node, int slot) {
      const std::string &op = node.op_type();
      if (op == "Sub" || op == "Div" || op == "Mul" || op == "Add") {
        const std::string &other = node.input(1 - slot);
        return isKnown(other) ? normalisesInput(node.output(0), depth + 1)
                              : isInput(other);
      }
      const bool goesOn = kMoves.count(op) || kOfVariance.count(op);
      return slot == 0 && goesOn && normalisesInput(node.output(0), depth + 1);
    });
  }

  /// One of `ops` is applied to a product with it.
  bool reaches(const std::string &value, const std::string &wanted,
               int depth = 0) const {
    return anyReader(value, depth, [&](const onnx::NodeProto &node, int) {
      const std::string &op = node.op_type();
      const bool goesOn = kMoves.count(op) || op == "Mul" || op == "MatMul" ||
                          op == "Einsum" || op == "Concat" || op == "Add";
      return op == wanted ||
             (goesOn && reaches(node.output(0), wanted, depth + 1));
    });
  }

  /// A product with a weight reads it as data.
  bool isDataOfLayer(const std::string &value, int depth = 0) const {
    return anyReader(value, depth, [&](const onnx::NodeProto &node, int slot) {
      const std::string &op = node.op_type();
      if (slot == 0 && (op == "MatMul" || op == "Gemm" || op == "Conv"))
        return isKnown(node.input(1));
      return slot == 0 && kMoves.count(op) &&
             isDataOfLayer(node.output(0), depth + 1);
    });
  }

  bool isOfBatchNorm(const std::string &value, int depth = 0) const {
    return anyReader(value, depth, [&](const onnx::NodeProto &node, int slot) {
      return node.op_type() == "BatchNormalization" ||
             (slot == 0 && kMoves.count(node.op_type()) &&
              isOfBatchNorm(node.output(0), depth + 1));
    });
  }

  /// It is combined with other tensors of the file before any data.
  bool isCombined(const std::string &value, int depth = 0) const {
    return anyReader(value, depth, [&](const onnx::NodeProto &node, int slot) {
      return kMoves.count(node.op_type())
                 ? slot == 0 && isCombined(node.output(0), depth + 1)
                 : node.input_size() == 2 && isKnown(node.input(1 - slot));
    });
  }

private:
  template <typename Told>
  bool anyReader(const std::string &value, int depth, Told told) const {
    return depth <= kLongestUse &&
           std::ranges::any_of(flow.readers(value), [&](const auto &reader) {
             return look() && reader.node->output_size() > 0 &&
                    told(*reader.node, reader.slot);
           });
  }

  /// An input of the model, possibly after arithmetic with constants.
  bool isInput(const std::string &value, int depth = 0) const {
    const auto *maker = flow.maker(value);
    if (!maker)
      return !value.empty() && !file.weights.find(value);
    const std::string &op = maker->op_type();
    if (depth > kInputSteps || maker->input_size() == 0)
      return false;
    if (kMoves.count(op) || kOfPixels.count(op))
      return isInput(maker->input(0), depth + 1);
    if (!kComputing.count(op) || maker->input_size() != 2)
      return false;
    const int slot = isKnown(maker->input(0)) ? 1 : 0;
    return isKnown(maker->input(1 - slot)) &&
           isInput(maker->input(slot), depth + 1);
  }
};

/// Zeros and either ones or large negative numbers.
bool isMaskOfTwo(const Weight &weight) {
  constexpr float kLeastPenalty = 10;
  const std::vector<float> values = floatsOf(weight);
  float other = 0;
  bool hasZero = false;
  for (float v : values) {
    if (v == 0)
      hasZero = true;
    else if (other == 0)
      other = v;
    else if (other != v)
      return false;
  }
  return hasZero && (other == 1 || other <= -kLeastPenalty);
}

/// The square root of an integer, such as an embedding's width.
bool isRoot(const Weight &weight) {
  if (weight.elements() != 1)
    return false;
  const double square = std::pow(double(floatsOf(weight)[0]), 2);
  return square > 1 && std::abs(square - std::round(square)) < 1e-5 * square;
}

/// "norm" for "norm.running_mean"; empty unless the file has the statistics.
std::string besideStatistics(const std::string &name, const OnnxFile &file) {
  const size_t dot = name.rfind('.');
  const std::string module =
      dot == std::string::npos ? "" : name.substr(0, dot + 1);
  for (const char *own : {"running_mean", "running_var"}) {
    const Weight *statistic = file.weights.find(module + own);
    if (!statistic || !isFloat(statistic->dtype))
      return "";
  }
  return module + "running_mean";
}

} // namespace

BufferSign bufferSignOf(const std::string &value, const std::string &name,
                        const OnnxFile &file, const ValueFlow &flow) {
  static const Pattern statistics =
                           *Pattern::parse("running_|(^|[._])(mean|std|var)$"),
                       masks = *Pattern::parse("mask"),
                       learnedMasks = *Pattern::parse("mask(ed)?_(tok|.*emb)"),
                       waves = *Pattern::parse(
                           "freqs?($|[._])|(^|\\.)pe$|position_ids|"
                           "(^|[._])(sin|cos)(_cached)?$"),
                       tables = *Pattern::parse(
                           "relative_position_index|relative_coords|"
                           "anchor"),
                       scales = *Pattern::parse("embed_scale$"),
                       biases = *Pattern::parse("(^|[._])final_logits_bias$");
  const Weight &weight = *file.weights.find(value);
  const UseOfBuffer use(file, flow);
  auto by = [](BufferSign sign, bool shown) {
    return shown ? sign : BufferSign::Name;
  };
  if (statistics.search(name))
    return by(BufferSign::Use, use.normalisesInput(value) ||
                                   (name.find("running_") != name.npos &&
                                    !besideStatistics(name, file).empty()));
  if (masks.search(name) && !learnedMasks.search(name))
    return by(BufferSign::Values, isMaskOfTwo(weight));
  if (biases.search(name)) // a layer's own bias is 1-D
    return by(BufferSign::Use,
              weight.shape.size() == 2 && weight.shape[0] == 1);
  if (scales.search(name))
    return by(BufferSign::Values, isRoot(weight));
  if (waves.search(name) && formulaOf(weight) != Formula::None)
    return BufferSign::Values;
  if (waves.search(name))
    return by(BufferSign::Use,
              use.reaches(value, "Sin") && use.reaches(value, "Cos"));
  if (tables.search(name))
    return by(BufferSign::Use, use.isDataOfLayer(value));
  return BufferSign::None;
}

bool isOfPowerIteration(const std::string &name, const OnnxFile &file) {
  static const RE2 hook("(.+)_[uv]"),
      parametrization("(.+[.]parametrizations[.][^.]+)[.][0-9]+[.]_[uv]");
  std::string of;
  return (RE2::FullMatch(name, hook, &of) && file.weights.find(of + "_orig")) ||
         (RE2::FullMatch(name, parametrization, &of) &&
          file.weights.find(of + ".original"));
}

bool isOfFrozenNorm(const std::string &name, const OnnxFile &file,
                    const ValueFlow &flow) {
  if (!name.ends_with("weight") && !name.ends_with("bias"))
    return false;
  const std::string statistic = besideStatistics(name, file);
  const UseOfBuffer use(file, flow);
  return !statistic.empty() && use.isCombined(name) &&
         !use.isOfBatchNorm(statistic);
}

} // namespace dlc::import
