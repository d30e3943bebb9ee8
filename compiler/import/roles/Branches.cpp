// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/roles/Evidence.h"
#include "onnx-ml.pb.h"
#include <deque>
#include <set>

namespace dlc::import {
namespace {

constexpr int kLongestTail = 16;     // nodes from the vector to the Add
constexpr size_t kBranchNodes = 512; // searched for its start
constexpr size_t kBranchLooks = 4 * kBranchNodes; // inputs of these

bool isArrangement(const onnx::NodeProto &node) {
  static const std::set<std::string> ops = {"Identity", "Transpose", "Reshape",
                                            "Cast", "Dropout"};
  return ops.count(node.op_type()) > 0;
}

/// Output channels of a layer; 0 for other nodes.
int64_t widthOf(const onnx::NodeProto &node, const OnnxFile &file) {
  const Weight *weight =
      node.input_size() > 1 && node.op_type() != "ConvTranspose"
          ? file.weights.find(node.input(1))
          : nullptr;
  return weight ? channelsOf(node, weight->shape) : 0;
}

class BranchWalk {
public:
  BranchWalk(const OnnxFile &file, const ValueFlow &flow)
      : file(file), flow(flow) {}

  const onnx::NodeProto *run(const onnx::NodeProto &node, int slot,
                             int64_t channels) const {
    const std::string &branch = node.input(1 - slot);
    const bool isNumber = channels == 1;
    if (isNumber && isKnown(branch))
      return nullptr;
    const onnx::NodeProto *at = &node, *sum = meetingBehind(at);
    if (!sum || sum->op_type() != "Add")
      return nullptr;
    const std::string &other = otherThan(*at, *sum);
    const int64_t width = lastWidth(branch);
    if (!isNumber && width != channels)
      return nullptr;
    if (width && isMadeFrom(branch, other))
      return sum;
    const int64_t made = lastWidth(other);
    const bool isScale = at == &node && node.op_type() == "Mul";
    const bool fits = isNumber ? made > 0 : isScale && made == channels;
    return fits && isMadeFrom(other, branch) ? sum : nullptr;
  }

  bool isOfFoldedNorm(const onnx::NodeProto &node, int slot) const {
    const std::string &data = node.input(1 - slot);
    if (node.op_type() == "Mul") {
      const auto readers = flow.readers(node.output(0));
      if (!isOfBareConv(data) || readers.size() != 1 ||
          readers[0].node->op_type() != "Add" ||
          readers[0].node->input_size() != 2)
        return false;
      const onnx::NodeProto &add = *readers[0].node;
      return isKnown(add.input(add.input(0) == node.output(0) ? 1 : 0));
    }
    const auto *mul = flow.maker(data);
    return node.op_type() == "Add" && mul && mul->op_type() == "Mul" &&
           mul->input_size() == 2 &&
           ((isOfBareConv(mul->input(0)) && isKnown(mul->input(1))) ||
            (isOfBareConv(mul->input(1)) && isKnown(mul->input(0))));
  }

private:
  static const std::string &otherThan(const onnx::NodeProto &at,
                                      const onnx::NodeProto &next) {
    return next.input(next.input(0) == at.output(0) ? 1 : 0);
  }

  /// Follows single readers of `at` to a node whose other operand is not
  /// constant; `at` becomes its predecessor. Null if a value has other readers.
  const onnx::NodeProto *meetingBehind(const onnx::NodeProto *&at) const {
    static const std::set<std::string> binary = {"Add", "Div", "Mul"};
    for (int steps = 0; steps < kLongestTail; ++steps) {
      const auto readers = flow.readers(at->output(0));
      if (readers.size() != 1)
        return nullptr;
      const onnx::NodeProto &next = *readers[0].node;
      if (!isArrangement(next) || next.input(0) != at->output(0)) {
        if (!binary.count(next.op_type()) || next.input_size() != 2)
          return nullptr;
        if (!isKnown(otherThan(*at, next)))
          return &next;
      }
      at = &next;
    }
    return nullptr;
  }

  bool isOfBareConv(const std::string &value) const {
    const auto *maker = flow.maker(value);
    return maker && maker->op_type() == "Conv" && inputOf(*maker, 2).empty();
  }

  bool isKnown(const std::string &value) const {
    const auto *maker = flow.maker(value);
    if (!maker)
      return file.weights.find(value) != nullptr;
    return maker->op_type() == "Constant" ||
           (isArrangement(*maker) && file.weights.find(maker->input(0)));
  }

  /// Output channels of the nearest layer before `value`, along operands that
  /// are not constant.
  int64_t lastWidth(std::string value) const {
    for (size_t steps = 0; steps < kBranchNodes; ++steps) {
      const auto *maker = flow.maker(value);
      if (!maker || !maker->input_size())
        return 0;
      if (int64_t width = widthOf(*maker, file))
        return width;
      value = maker->input(0);
      if (maker->input_size() > 1 && isKnown(value))
        value = maker->input(1);
    }
    return 0;
  }

  bool isMadeFrom(const std::string &branch, const std::string &start) const {
    std::deque<std::string> left{branch};
    std::set<std::string> seen{branch};
    size_t looks = 0;
    while (!left.empty() && seen.size() < kBranchNodes) {
      const auto *maker = flow.maker(left.front());
      left.pop_front();
      for (int i = 0; maker && i < maker->input_size(); ++i) {
        if (maker->input(i) == start)
          return true;
        if (++looks > kBranchLooks)
          return false;
        if (seen.insert(maker->input(i)).second)
          left.push_back(maker->input(i));
      }
    }
    return false;
  }

  const OnnxFile &file;
  const ValueFlow &flow;
};

} // namespace

bool FlowWalk::isKnown(const std::string &value, int depth) const {
  const auto *maker = flow.maker(value);
  if (!maker)
    return value.empty() || file.weights.find(value) != nullptr;
  return depth < knownSteps &&
         std::ranges::all_of(maker->input(), [&](const std::string &input) {
           return look() && isKnown(input, depth + 1);
         });
}

const onnx::NodeProto *residualBehind(const onnx::NodeProto &node, int slot,
                                      int64_t channels, const OnnxFile &file,
                                      const ValueFlow &flow) {
  if ((node.op_type() != "Mul" && node.op_type() != "Add") ||
      node.input_size() != 2 || node.output_size() != 1)
    return nullptr;
  return BranchWalk(file, flow).run(node, slot, channels);
}

bool isOfFoldedNorm(const onnx::NodeProto &node, int slot, const OnnxFile &file,
                    const ValueFlow &flow) {
  return node.input_size() == 2 && node.output_size() == 1 &&
         BranchWalk(file, flow).isOfFoldedNorm(node, slot);
}

constexpr int kJoinLooks = 128;

static bool isOfWeights(const std::string &value, const OnnxFile &file,
                        const ValueFlow &flow, int &looks) {
  static const std::set<std::string> arranging = {
      "Cast",  "Identity", "Reshape",   "Slice",
      "Split", "Squeeze",  "Transpose", "Unsqueeze"};
  if (--looks < 0)
    return false;
  if (file.weights.find(value)) // may be a Constant's, too
    return true;
  const onnx::NodeProto *maker = flow.maker(value);
  if (!maker)
    return false;
  if (maker->op_type() != "Concat")
    return arranging.count(maker->op_type()) && maker->input_size() &&
           isOfWeights(maker->input(0), file, flow, looks);
  return std::ranges::all_of(maker->input(), [&](const auto &part) {
    return isOfWeights(part, file, flow, looks);
  });
}

bool joinsWeights(const onnx::NodeProto &node, const OnnxFile &file,
                  const ValueFlow &flow) {
  int looks = kJoinLooks;
  return node.op_type() == "Concat" && node.output_size() == 1 &&
         isOfWeights(node.output(0), file, flow, looks);
}

} // namespace dlc::import
