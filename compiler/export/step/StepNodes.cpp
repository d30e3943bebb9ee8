// SPDX-License-Identifier: Apache-2.0
#include "compiler/export/step/StepNodes.h"

using namespace mlir;

namespace dlc::exporter {

Type wideType(Type element) {
  if (ir::isHalf(element))
    return Float32Type::get(element.getContext());
  if (element.isInteger(1) || element.isInteger(8))
    return IntegerType::get(element.getContext(), 32);
  return element;
}

std::string StepNodes::wide(Value v) {
  const Type own = ir::elementType(v), type = wideType(own);
  if (type == own)
    return raw(v);
  std::string &name = widened[v];
  if (name.empty())
    name = graph.cast(raw(v), type);
  return name;
}

void StepNodes::round(Value result, const std::string &name) {
  const Type own = ir::elementType(result);
  set(result, wideType(own) == own ? name : graph.cast(name, own));
}

std::string StepNodes::moved(Value v) {
  return ir::isHalf(ir::elementType(v)) ? wide(v) : raw(v);
}

void StepNodes::placed(Value result, const std::string &name) {
  const Type own = ir::elementType(result);
  set(result, ir::isHalf(own) ? graph.cast(name, own) : name);
}

void StepRows::addSame(StepNodes &s, Operation *op, const std::string &node) {
  Names inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(s.wide(operand));
  s.round(op->getResult(0), s.graph.add(node, inputs));
}

/// "model.mlir:132: 'dlc.custom' (Twist) ": the program lacks names of nodes.
static InFlightDiagnostic refuse(Operation *op) {
  InFlightDiagnostic diagnostic = op->emitError();
  if (auto at = op->getLoc()->findInstanceOf<FileLineColLoc>())
    diagnostic << at.getFilename().getValue() << ":" << at.getLine() << ": ";
  diagnostic << "'" << op->getName() << "' ";
  if (auto name = op->getAttrOfType<StringAttr>("op"))
    diagnostic << "(" << name.getValue() << ") ";
  return diagnostic;
}

LogicalResult StepRows::add(StepNodes &nodes, Operation *op) const {
  auto row = rows.find(op->getName().getStringRef());
  if (row == rows.end())
    return refuse(op) << "has no form in ONNX's standard operators: "
                      << (isa<ir::PutRowsOp>(op)
                              ? "compile with --sparse-embeddings=off"
                              : "dlc train runs the step");
  if (row->second.isNeverF64 && ir::elementType(op->getResult(0)).isF64())
    return refuse(op) << "is in f64, in which ONNX Runtime's CPU does not "
                         "compute it: dlc train runs the step";
  row->second.build(nodes, op);
  return success();
}

} // namespace dlc::exporter
