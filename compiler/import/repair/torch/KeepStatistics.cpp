// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include <fmt/format.h>

namespace dlc::import {
namespace {

/// By torch's call, else by the node's form, which before opset 14 is its
/// number of outputs.
bool usesBatchStatistics(const onnx::NodeProto &node, const TorchNotes &notes,
                         int64_t opset) {
  const TorchCall &call = notes.call(node);
  if (call.known)
    return call.target == "_native_batch_norm_legit_functional";
  if (opset < 14)
    return node.output_size() > 1;
  return NodeView(node, opset).integer("training_mode", 0) != 0;
}

} // namespace

int keepStatistics(Restoring &work) {
  bool isOfTraining = false;
  std::vector<const onnx::NodeProto *> inference;
  for (const auto &node : work.edit.graph.node()) {
    if (operatorName(node) != "BatchNormalization" || node.input_size() < 5 ||
        !node.output_size())
      continue;
    // A source without running statistics uses the batch's in any form.
    const bool hasStatistics = work.edit.weight(node.input(3)) &&
                               work.edit.weight(node.input(4)) &&
                               !isMadeUp(work.notes, node.input(3));
    if (usesBatchStatistics(node, work.notes, work.file.opset))
      isOfTraining |= hasStatistics;
    else if (hasStatistics)
      inference.push_back(&node);
  }
  if (!isOfTraining)
    return 0;
  std::vector<std::string> names;
  for (const auto *node : inference) {
    work.file.inferenceNorms.insert(node->output(0));
    names.push_back(fmt::format("'{}'", printable(nodeLabel(*node))));
  }
  if (!names.empty())
    work.file.remarks.push_back({fmt::format(
        "batch norms that the source keeps in inference mode, while others "
        "train, use their running statistics, which do not change: {}; "
        "--no-repair=keep-statistics trains all by the batch",
        listed(names, 3))});
  return int(names.size());
}

} // namespace dlc::import
