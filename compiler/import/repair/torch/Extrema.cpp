// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include "runtime/base/numbers/ParseNumber.h"
#include <fmt/format.h>

namespace dlc::import {
namespace {

/// The dimensions of calls max(x, dim) that `node` may be, not of amax(x, dim)
/// or max(x). The older exporter writes the indices of max(x, dim) as an ArgMax
/// of the same input, if they are used. nullopt: it is no such call.
std::optional<std::vector<int64_t>> dimensionsOf(const Restoring &work,
                                                 const onnx::NodeProto &node) {
  const bool isMax = operatorName(node) == "ReduceMax";
  if (!isMax && operatorName(node) != "ReduceMin")
    return std::nullopt;
  const TorchCall &call = work.notes.call(node);
  if (call.known &&
      (call.target != (isMax ? "max" : "min") || call.args.size() < 2))
    return std::nullopt;
  if (call.known)
    return std::vector{asNumber<int64_t>(call.args[1]).value_or(0)};
  const NodeView view(node, work.file.opset);
  if (!isOfTorch(*work.file.model) ||
      !(view.has("axes") || !inputOf(node, 1).empty()))
    return std::nullopt;
  std::vector<int64_t> found;
  for (const Use &use : work.edit.uses(node.input(0)))
    if (operatorName(*use.node) == (isMax ? "ArgMax" : "ArgMin"))
      found.push_back(NodeView(*use.node, view.opset).integer("axis", 0));
  return found;
}

} // namespace

int findIndexedExtrema(Restoring &work) {
  std::vector<std::string> unknown;
  for (const auto &node : work.edit.graph.node())
    if (auto dimensions = dimensionsOf(work, node)) {
      if (dimensions->empty())
        unknown.push_back(fmt::format("'{}'", printable(nodeLabel(node))));
      else
        work.file.indexedExtrema[node.output(0)] = *dimensions;
    }
  if (!unknown.empty())
    work.file.remarks.push_back({fmt::format(
        "equal elements share the gradient of these maxima and minima, as in "
        "amax; of max(dim), which the file may mean, one of them gets it: {}. "
        "The file of torch.onnx.export(..., dynamo=True) says which",
        listed(unknown, 3))});
  return int(work.file.indexedExtrema.size());
}

} // namespace dlc::import
