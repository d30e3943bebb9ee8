// SPDX-License-Identifier: Apache-2.0
// torch's masked_scatter: the number of elements that a mask selects depends on
// data, but the place of each in the source is known without it.
#include "compiler/import/file/OnnxFile.h"
#include "compiler/import/repair/upgrade/Upgrading.h"
#include <limits>
#include <set>

namespace dlc::import {
namespace {

const onnx::NodeProto *makerOf(const ValueFlow &flow, const std::string &value,
                               const char *op) {
  const auto *maker = flow.maker(value);
  return maker && operatorName(*maker) == op ? maker : nullptr;
}

/// `value` is computed from the shape of `indices` by moving it alone.
bool isSizeOf(const ValueFlow &flow, const std::string &value,
              const std::string &indices) {
  static const std::set<std::string> moves = {"Cast", "Gather", "Reshape",
                                              "Squeeze", "Unsqueeze"};
  const auto *maker = flow.maker(value);
  while (maker && moves.count(operatorName(*maker)))
    maker = flow.maker(inputOf(*maker, 0));
  return maker && operatorName(*maker) == "Shape" &&
         inputOf(*maker, 0) == indices;
}

} // namespace

/// ScatterND(x, Transpose(NonZero(mask)), Slice(source, ..., their number)).
std::vector<onnx::NodeProto> withoutNonZero(const onnx::NodeProto &node,
                                            const ValueFlow &flow,
                                            const UnusedName &unused) {
  Upgrade up(node, kNewestOpset, unused);
  if (operatorName(node) != "ScatterND" ||
      up.view.text("reduction", "none") != "none")
    return {};
  const auto *indices = makerOf(flow, up.input(1), "Transpose");
  const auto *nonZero =
      indices ? makerOf(flow, inputOf(*indices, 0), "NonZero") : nullptr;
  const auto *slice = makerOf(flow, up.input(2), "Slice");
  if (!nonZero || !slice || !isSizeOf(flow, inputOf(*slice, 2), up.input(1)))
    return {};
  const std::string mask =
      up.add("Cast", {nonZero->input(0)}, {{"to", onnx::TensorProto::BOOL}});
  const std::string whole =
      up.add("Cast", {mask}, {{"to", onnx::TensorProto::INT64}});
  const std::string ones = up.add("Reshape", {whole, up.integers({-1})});
  const std::string before =
      up.add("CumSum", {ones, up.integers({0})}, {{"exclusive", 1}});
  const std::string place = up.add("Mul", {before, ones});
  std::vector<std::string> part(slice->input().begin(), slice->input().end());
  part[2] = up.integers({std::numeric_limits<int64_t>::max()});
  const std::string source = up.add("Slice", part);
  const std::string flat = up.add("Gather", {source, place});
  const std::string shape = up.add("Shape", {mask});
  const std::string values = up.add("Reshape", {flat, shape});
  up.add("Where", {mask, values, up.input(0)});
  up.nodes.back().set_output(0, node.output(0));
  return std::move(up.nodes);
}

} // namespace dlc::import
