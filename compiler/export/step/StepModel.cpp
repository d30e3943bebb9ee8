// SPDX-License-Identifier: Apache-2.0
#include "compiler/export/step/StepModel.h"
#include "compiler/export/step/StepNodes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "onnx-ml.pb.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dlc::exporter {
namespace {

constexpr int kOpset = 20, kIrVersion = 9; // ONNX Runtime 1.17 reads them

StepRows allRows() {
  StepRows rows;
  addElementwiseRows(rows);
  addShapeRows(rows);
  addProductRows(rows);
  addRandomRows(rows);
  // With one rank the mean and the sum are the value itself.
  rows.on<ir::AllReduceOp>(
      [](StepNodes &s, ir::AllReduceOp op) { s.set(op, s.raw(op.getX())); });
  return rows;
}

class Writer {
public:
  explicit Writer(ModuleOp program)
      : program(program),
        step(program.lookupSymbol<func::FuncOp>("train_step")),
        graph(*model.mutable_graph(), program.getContext()), nodes(graph) {
    model.set_ir_version(kIrVersion);
    model.set_producer_name("dlc");
    model.add_opset_import()->set_version(kOpset);
    model.mutable_graph()->set_name("train_step");
  }

  FailureOr<StepModel> run() {
    if (failed(addInputs()) || failed(addStates()) || failed(claimResults()))
      return failure();
    const StepRows rows = allRows();
    for (Operation &op : step.getBody().front())
      if (failed(addOp(rows, op)))
        return failure();
    if (!model.SerializeToString(&made.skeleton))
      return step.emitError("the step's graph is larger than protobuf's limit "
                            "of 2 GiB");
    return std::move(made);
  }

private:
  LogicalResult claim(const std::string &name) {
    if (graph.claim(name))
      return success();
    return step.emitError() << "'" << name
                            << "' is the name of two of the step's inputs, "
                               "states and results, of which a graph needs "
                               "different ones: rename one in the model";
  }
  LogicalResult addInputs() {
    for (BlockArgument argument : step.getArguments()) {
      const std::string name =
          step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kName)
              .str();
      if (failed(claim(name)))
        return failure();
      graph.addInput(name, ir::tensorType(argument));
      nodes.set(argument, name);
    }
    return success();
  }
  LogicalResult addStates() {
    llvm::StringSet<> read, written;
    step.walk([&](ir::ReadOp op) { read.insert(op.getState()); });
    step.walk([&](ir::WriteOp op) { written.insert(op.getState()); });
    for (auto state : program.getOps<ir::StateOp>()) {
      const StringRef symbol = state.getSymName();
      const bool isWritten = written.contains(symbol);
      if (!isWritten && !read.contains(symbol))
        continue;
      if (failed(claim(symbol.str())) ||
          (isWritten && failed(claim(kNext + symbol.str()))))
        return failure();
      made.states.push_back(state);
      graph.addState(symbol.str(), state.getTensorType());
      if (isWritten)
        graph.addInput(symbol.str(), state.getTensorType());
    }
    return success();
  }
  std::string resultName(unsigned i) {
    return step.getResultAttrOfType<StringAttr>(i, kName).str();
  }
  LogicalResult claimResults() {
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      if (failed(claim(resultName(i))))
        return failure();
    return success();
  }
  void addOutput(const std::string &name, Value v) {
    graph.addAs(name, "Identity", {nodes.raw(v)});
    graph.addOutput(name, ir::tensorType(v));
  }
  LogicalResult addOp(const StepRows &rows, Operation &op) {
    if (auto read = dyn_cast<ir::ReadOp>(op))
      nodes.set(read, read.getState().str());
    else if (auto write = dyn_cast<ir::WriteOp>(op))
      written.push_back(write);
    else if (auto end = dyn_cast<func::ReturnOp>(op)) {
      for (auto [i, result] : llvm::enumerate(end.getOperands()))
        addOutput(resultName(i), result);
      for (ir::WriteOp write : written)
        addOutput(kNext + write.getState().str(), write.getValue());
    } else {
      return rows.add(nodes, &op);
    }
    return success();
  }

  static constexpr StringLiteral kName = "dlc.name";
  ModuleOp program;
  func::FuncOp step;
  onnx::ModelProto model;
  StepGraph graph;
  StepNodes nodes;
  StepModel made;
  SmallVector<ir::WriteOp> written;
};

} // namespace

FailureOr<StepModel> makeStepModel(ModuleOp program) {
  return Writer(program).run();
}

} // namespace dlc::exporter
