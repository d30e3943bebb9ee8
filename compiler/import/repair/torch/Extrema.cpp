// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"

namespace dlc::import {
namespace {

/// The source's call is max(x, dim), not amax(x, dim) or max(x). The older
/// exporter writes the indices of max(x, dim) as an ArgMax of the same input,
/// if they are used.
bool hasIndices(const Restoring &work, const onnx::NodeProto &node) {
  const bool isMax = operatorName(node) == "ReduceMax";
  if (!isMax && operatorName(node) != "ReduceMin")
    return false;
  const TorchCall &call = work.notes.call(node);
  if (call.known)
    return call.target == (isMax ? "max" : "min") && call.args.size() > 1;
  return isOfTorch(*work.file.model) &&
         std::ranges::any_of(work.edit.uses(node.input(0)), [&](const Use &u) {
           return operatorName(*u.node) == (isMax ? "ArgMax" : "ArgMin");
         });
}

} // namespace

int findIndexedExtrema(Restoring &work) {
  for (const auto &node : work.edit.graph.node())
    if (hasIndices(work, node))
      work.file.indexedExtrema.insert(node.output(0));
  return int(work.file.indexedExtrema.size());
}

} // namespace dlc::import
