// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include <algorithm>

namespace dlc::import {
namespace {

/// Whether both halves of a layer's B only act by their sum.
bool addsBiases(const onnx::NodeProto &node) {
  const std::string op = operatorName(node);
  return op == "LSTM" || op == "RNN" ||
         (op == "GRU" && !NodeView(node, 0).integer("linear_before_reset", 0));
}

/// Finds layers of sources with one bias (Keras), whose file has a second one
/// of zeros: if it trained, too, the bias would move twice as far.
class OneBias : GraphRepair {
public:
  using GraphRepair::GraphRepair;

  void run() {
    std::vector<onnx::NodeProto *> nodes;
    for (auto &node : *edit.graph.mutable_node())
      if (addsBiases(node))
        nodes.push_back(&node);
    for (auto *node : nodes)
      if (const Weight *bias = edit.weight(inputOf(*node, 3));
          bias && bias->dtype == DType::F32 && bias->shape.size() == 2)
        keepZeros({node, 3}, *bias);
  }

private:
  void keepZeros(const Use &use, const Weight &bias) {
    const std::string name = use.node->input(use.slot);
    const std::vector<float> values = floatsOf(bias);
    const size_t half = size_t(bias.shape[1]) / 2;
    std::vector<float> trained(values.size(), 1);
    for (size_t at = half; half && at < values.size(); at += 2 * half) {
      if (std::any_of(&values[at], &values[at] + half, std::identity()))
        return;
      std::fill_n(&trained[at], half, 0.0F);
    }
    if (std::ranges::none_of(values, std::identity()))
      return work.decide(name, "two biases", "is zeros", true);
    const std::string mask = edit.unusedName(name + "/trained");
    edit.ownInitializer(mask, DType::F32, bias.shape,
                        {reinterpret_cast<const char *>(trained.data()),
                         trained.size() * sizeof(float)});
    work.file.roles[mask] = Role::Constant;
    work.file.roles[name] = Role::Param;
    edit.redirect(use, edit.add("Mul", {name, mask}, name + "/one"));
    work.decide(name, "one bias",
                "is the one bias of the source, and zeros that do not train");
  }
};

} // namespace

void findOneBias(Restoring &work) {
  if (!isOfTorch(*work.file.model))
    OneBias(work).run();
}

} // namespace dlc::import
