// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/roles/Evidence.h"
#include "compiler/import/tensor/WeightStore.h"
#include "onnx-ml.pb.h"
#include <cmath>
#include <set>

namespace dlc::import {
namespace {

constexpr int kDepth = 8;       // of nodes after a scalar
constexpr int kKnownDepth = 6;  // of nodes before an operand
constexpr size_t kReaders = 64; // of one value

using Operators = std::set<std::string>;

/// Ops that move elements, and functions of one value.
const Operators kPassing = {"Identity",
                            "Transpose",
                            "Reshape",
                            "Cast",
                            "CastLike",
                            "Squeeze",
                            "Unsqueeze",
                            "Expand",
                            "Flatten",
                            "Slice",
                            "Split",
                            "QuantizeLinear",
                            "DequantizeLinear",
                            "Abs",
                            "Clip",
                            "Log",
                            "Neg",
                            "Reciprocal",
                            "Sqrt"};
const Operators kToScale = {"Exp", "Sigmoid", "Softplus", "Tanh"};
const Operators kChoices = {"Max", "Min", "Where"};
const Operators kArithmetic = {"Add", "Div", "Mul", "Pow", "Sub", "Sum"};

class NumberWalk : FlowWalk {
public:
  NumberWalk(const OnnxFile &file, const ValueFlow &flow, const Weight *weight)
      : FlowWalk(file, flow, kKnownDepth), weight(weight) {}

  /// The most certain use of all readers; Setting takes precedence.
  NumberUse run(const std::string &value, int depth = 0) const {
    NumberUse found = NumberUse::Setting;
    const auto readers = flow.readers(value);
    if (depth > kDepth || readers.empty() || readers.size() > kReaders)
      return found;
    bool isSetting = false;
    for (const auto &[node, slot] : readers) {
      if (!look())
        return NumberUse::Setting;
      const NumberUse use = readBy(*node, slot, depth);
      isSetting |= use == NumberUse::Setting;
      found = std::max(found, use);
    }
    return isSetting && found != NumberUse::Learned ? NumberUse::Setting
                                                    : found;
  }

private:
  NumberUse readBy(const onnx::NodeProto &node, int slot, int depth) const {
    const std::string &op = node.op_type();
    if (node.output_size() == 0)
      return NumberUse::Setting;
    if (slot == 0 && kToScale.count(op))
      return NumberUse::Learned;
    if (slot == 0 && kPassing.count(op))
      return run(node.output(0), depth + 1);
    const bool chooses = kChoices.count(op);
    if (!kArithmetic.count(op) && !chooses)
      return NumberUse::Setting;
    if (op == "Where" && (slot == 0 || isFilledIn()))
      return NumberUse::Setting;
    if (areOthersKnown(node, slot))
      return run(node.output(0), depth + 1);
    if (chooses)
      return NumberUse::Choice;
    return isLogitBias(node, slot) || residualBehind(node, slot, 1, file, flow)
               ? NumberUse::Learned
               : NumberUse::Operand;
  }

  /// A large negative fill value of scores.
  bool isFilledIn() const {
    return weight && !(std::abs(floatsOf(*weight)[0]) < 1e4F);
  }

  bool areOthersKnown(const onnx::NodeProto &node, int slot) const {
    for (int i = 0; i < node.input_size(); ++i)
      if (i != slot && !isKnown(node.input(i)))
        return false;
    return true;
  }

  /// y * exp(a) + b
  bool isLogitBias(const onnx::NodeProto &node, int slot) const {
    if (node.op_type() != "Add" || node.input_size() != 2)
      return false;
    const auto *scaled = flow.maker(node.input(1 - slot));
    if (!scaled || scaled->op_type() != "Mul")
      return false;
    return std::ranges::any_of(scaled->input(), [&](const std::string &input) {
      const auto *scale = flow.maker(input);
      return scale && scale->op_type() == "Exp" && isKnown(input);
    });
  }

  const Weight *weight;
};

} // namespace

NumberUse numberUseOf(const std::string &value, const OnnxFile &file,
                      const ValueFlow &flow) {
  return NumberWalk(file, flow, file.weights.find(value)).run(value);
}

} // namespace dlc::import
