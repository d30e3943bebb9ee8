// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/bind/Rebatch.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/OnnxFile.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/guide/ForeignModel.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <fmt/format.h>

namespace dlc::import {

static const std::set<std::string> kRandom = {"RandomNormal", "RandomUniform"},
                                   kRecurrent = {"GRU", "LSTM", "RNN"};

/// If a shape is known and begins with the file's batch, adds one with the new
/// batch and returns its name; else returns `shape`.
std::string Rebatch::shapeFor(const std::string &shape, ValueTable &table) {
  const HostTensor *known = table.host(shape);
  if (!known || known->elements() == 0 || known->integer(0) != from)
    return shape;
  std::vector<int64_t> dims = known->integers();
  dims[0] = to;
  const std::string name = table.unusedName(shape + "/batch");
  table.define(name, HostTensor::list(dims));
  table.use(name);
  return name;
}

/// Repeats input `input`, which does not depend on the samples, per sample.
std::string Rebatch::repeated(const onnx::NodeProto &node, int input,
                              size_t axis, ValueTable &table,
                              std::vector<onnx::NodeProto> &made) {
  const std::string name = inputOf(node, input);
  if (name.empty() || isOfBatch(name) || !table.type(name))
    return name;
  std::vector<int64_t> dims(table.type(name).getShape());
  if (dims.size() <= axis || dims[axis] != from || from != 1)
    return name;
  dims[axis] = to;
  const std::string shape = table.unusedName(name + "/batch");
  table.define(shape, HostTensor::list(dims));
  const std::string rows = table.unusedName(name + "/rows");
  made.push_back(
      newNode("Expand", node.name() + "/batch", {name, shape}, {rows}));
  table.use(shape);
  table.use(rows);
  return rows;
}

bool Rebatch::readsBatch(const onnx::NodeProto &node) const {
  const auto isRows = [&](const std::string &name) { return isOfBatch(name); };
  return std::ranges::any_of(node.input(), isRows) ||
         std::ranges::any_of(namesFromOutside(node), isRows);
}

Result<std::vector<onnx::NodeProto>>
Rebatch::adapted(const onnx::NodeProto &node, ValueTable &table) {
  std::vector<onnx::NodeProto> made;
  onnx::NodeProto same = node;
  if (readsBatch(node)) {
    DLC_TRY(adaptReader(same, table, made));
    rows.insert(node.output().begin(), node.output().end());
  } else if (operatorName(node) == "Expand") {
    same.set_input(1, shapeFor(node.input(1), table));
    if (same.input(1) != node.input(1))
      rows.insert(node.output(0));
  } else if (kRandom.count(operatorName(node))) {
    const auto shape = NodeView(node, kNewestOpset).integers("shape");
    if (!shape.empty() && shape[0] == from)
      return badModel("{} makes numbers for a batch of {}; {}", describe(node),
                      from, advice());
  }
  for (const onnx::NodeProto &expand : made)
    rows.insert(expand.output(0));
  made.push_back(std::move(same));
  return made;
}

/// The first dimension of the node's first operand is `rows`.
static bool beginsWith(int64_t rows, const onnx::NodeProto &node,
                       ValueTable &table) {
  const auto type = node.input_size() ? table.type(node.input(0)) : nullptr;
  return type && type.getRank() && type.getDimSize(0) == rows;
}

Status Rebatch::adaptReader(onnx::NodeProto &node, ValueTable &table,
                            std::vector<onnx::NodeProto> &made) {
  const std::string op = operatorName(node);
  NodeView view(node, kNewestOpset);
  const int64_t axis = view.integer("axis", 0);
  const bool isFirst = beginsWith(to, node, table);
  auto repeat = [&](int i, size_t along) {
    node.set_input(i, repeated(node, i, along, table, made));
  };
  if (op == "Reshape" && isFirst) {
    node.set_input(1, shapeFor(node.input(1), table));
  } else if (op == "Concat" && axis != 0) {
    for (int i = 0; i < node.input_size(); ++i)
      repeat(i, 0);
  } else if (kRecurrent.count(op)) {
    for (int i = 5; i < std::min(7, node.input_size()); ++i)
      repeat(i, view.integer("layout", 0) ? 0 : 1);
  } else if (op == "Gather" && isOfBatch(node.input(0)) && isFirst &&
             axis == 0 && table.host(node.input(1))) {
    return badModel("{} takes one sample of the batch; {}", describe(node),
                    advice());
  }
  return {};
}

bool Rebatch::isLost(const onnx::ValueInfoProto &output,
                     const Shape &shape) const {
  const auto &declared = output.type().tensor_type().shape();
  return isOfBatch(output.name()) && declared.dim_size() > 0 &&
         declared.dim(0).dim_value() == from &&
         (shape.empty() || shape[0] != to);
}

std::string Rebatch::advice() const {
  return fmt::format("the file fixes the batch at {}, and --batch={} cannot "
                     "change it: compile with --batch={}, or export with an "
                     "open one, as in {} ({})",
                     from, to, from, kExportLine, kExportGuide);
}

} // namespace dlc::import
