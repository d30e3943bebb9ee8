// SPDX-License-Identifier: Apache-2.0
// Converts ops of a training step to ONNX nodes, with a table row per op.
#pragma once

#include "compiler/export/step/StepGraph.h"

#include <functional>

namespace dlc::exporter {

/// The graph, and the mapping of the program's values to its values.
class StepNodes {
public:
  explicit StepNodes(StepGraph &graph) : graph(graph) {}

  void set(mlir::Value v, std::string name) { names[v] = std::move(name); }
  /// The value in its own type.
  const std::string &raw(mlir::Value v) const { return names.at(v); }
  /// The value in a type that ONNX Runtime's CPU provider supports: f32 for
  /// 16-bit floats, i32 for bytes and booleans. `round` converts a result back.
  std::string wide(mlir::Value v);
  void round(mlir::Value result, const std::string &name);
  /// As `wide`, for ops that only move data: bytes and booleans are not
  /// converted.
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
  /// `build` is called with the nodes and the op.
  template <class OpTy, class F> void on(F build) {
    rows[OpTy::getOperationName()] = {
        [build](StepNodes &s, mlir::Operation *op) {
          build(s, llvm::cast<OpTy>(op));
        }};
  }
  /// Maps the ops to ONNX nodes with the same operands and name.
  template <class... OpTys> void same() {
    (named<OpTys>(import::operatorLike(OpTys::getOperationName())), ...);
  }
  /// The same for nodes of another name.
  template <class... OpTys> void named(const std::string &node) {
    ((rows[OpTys::getOperationName()].build =
          [node](StepNodes &s, mlir::Operation *op) { addSame(s, op, node); }),
     ...);
  }
  /// Marks ops that ONNX Runtime's CPU provider does not compute in f64.
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
  static void addSame(StepNodes &s, mlir::Operation *op,
                      const std::string &node);

  llvm::StringMap<Row> rows;
};

void addElementwiseRows(StepRows &rows);
void addShapeRows(StepRows &rows);
void addProductRows(StepRows &rows);
void addRandomRows(StepRows &rows);

} // namespace dlc::exporter
