// SPDX-License-Identifier: Apache-2.0
// From ops of a training step to ONNX nodes, a row for each op.
#pragma once

#include "compiler/export/step/StepGraph.h"

#include <functional>

namespace dlc::exporter {

/// The graph, and which of its values is which value of the program.
class StepNodes {
public:
  explicit StepNodes(StepGraph &graph) : graph(graph) {}

  void set(mlir::Value v, std::string name) { names[v] = std::move(name); }
  /// The value in its own type.
  const std::string &raw(mlir::Value v) const { return names.at(v); }
  /// In a type that ONNX Runtime's CPU computes in: f32 for halves, i32 for
  /// bytes and booleans. A result that was computed so is rounded by `round`.
  std::string wide(mlir::Value v);
  void round(mlir::Value result, const std::string &name);
  /// As `wide`, for what only moves: bytes and booleans stay.
  std::string moved(mlir::Value v);
  void placed(mlir::Value result, const std::string &name);

  StepGraph &graph;

private:
  llvm::DenseMap<mlir::Value, std::string> names, widened;
};

/// The type of wide().
mlir::Type wideType(mlir::Type element);

class StepRows {
public:
  /// `build` takes the nodes and the op.
  template <class OpTy, class F> void on(F build) {
    rows[OpTy::getOperationName()] = {
        [build](StepNodes &s, mlir::Operation *op) {
          build(s, llvm::cast<OpTy>(op));
        }};
  }
  /// The node of that name has the same operands.
  template <class OpTy> void same(const char *node) {
    rows[OpTy::getOperationName()] = {
        [node](StepNodes &s, mlir::Operation *op) { addSame(s, op, node); }};
  }
  /// ONNX Runtime's CPU does not compute these in f64.
  template <class... OpTys> void neverInF64() {
    ((rows[OpTys::getOperationName()].isNeverF64 = true), ...);
  }
  /// Fails with a diagnostic at an op that has no row.
  llvm::LogicalResult add(StepNodes &nodes, mlir::Operation *op) const;

private:
  struct Row {
    std::function<void(StepNodes &, mlir::Operation *)> build;
    bool isNeverF64 = false;
  };
  static void addSame(StepNodes &s, mlir::Operation *op, const char *node);

  llvm::StringMap<Row> rows;
};

void addElementwiseRows(StepRows &rows);
void addShapeRows(StepRows &rows);
void addProductRows(StepRows &rows);
void addRandomRows(StepRows &rows);

} // namespace dlc::exporter
