// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/Narrow.h"
#include "compiler/import/file/SchemaCheck.h"
#include "compiler/import/rows/Quantize.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include <set>

using namespace mlir;

namespace dlc::import {
namespace {

using ir::Expr;
using onnx::TensorProto;

/// The result's ONNX type from attributes or the operator's schema; 0 if
/// neither determines it.
int resultType(const Node &node, const TypeCheck &types, int i) {
  for (const char *name : {"to", "dtype", "output_dtype", "output_datatype"})
    if (const auto *attribute = node.find(name); attribute && attribute->i())
      return int(attribute->i());
  const bool isConstant = node.proto.op_type() == "Constant" ||
                          node.proto.op_type() == "ConstantOfShape";
  if (const auto *value = node.find("value"); isConstant && value)
    return value->t().data_type();
  return types.outputType(i);
}

/// False for ops that only move or select elements.
bool leavesRange(const std::string &op) {
  static const std::set<std::string_view> ops = {
      "Abs",        "Add",       "BitShift",
      "BitwiseNot", "Cast",      "CastLike",
      "CumSum",     "CumProd",   "Div",
      "Mean",       "Mul",       "Neg",
      "Pow",        "ReduceL1",  "ReduceL2",
      "ReduceProd", "ReduceSum", "ReduceSumSquare",
      "Range",      "Sub",       "Sum"};
  return ops.count(op);
}

LogicalResult narrowResult(const Node &n, const std::string &name, int type) {
  const bool saturate = n.integer("saturate", 1);
  if (const HostTensor *host = n.table.host(name)) {
    auto y = narrowed(n, *host, type, saturate);
    if (!y.ok())
      return n.fail(y.status());
    n.table.define(name, std::move(*y));
    return success();
  }
  Value y = narrowed(n, n.table.value(name, n.loc), type, saturate);
  if (!y)
    return failure();
  n.table.define(name, y);
  return success();
}

} // namespace

NarrowTypes narrowTypes(const onnx::GraphProto &graph) {
  NarrowTypes narrow;
  for (const auto &input : graph.input())
    if (int type = input.type().tensor_type().elem_type(); isNarrow(type))
      narrow[input.name()] = type;
  for (const auto &tensor : graph.initializer())
    if (isNarrow(tensor.data_type()))
      narrow[tensor.name()] = tensor.data_type();
  return narrow;
}

LogicalResult narrowResults(const Node &n, const TypeCheck &types,
                            NarrowTypes &narrow) {
  for (int i = 0; i < n.proto.output_size(); ++i) {
    const std::string &name = n.proto.output(i);
    const int type = resultType(n, types, i);
    if (name.empty() || !n.table.isUsed(name) || !isNarrow(type))
      continue;
    narrow[name] = type;
    if (leavesRange(n.proto.op_type()) && !n.table.sequence(name) &&
        failed(narrowResult(n, name, type)))
      return failure();
  }
  return success();
}

} // namespace dlc::import
