// SPDX-License-Identifier: Apache-2.0
// A model's layers in order, as torchinfo lists them.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// An ONNX node whose result depends on the model's inputs, or a folded module
/// with everything in it.
struct Layer {
  /// Enclosing modules by dotted names, outermost first: "b.0", "b.0.qkv"; for
  /// other exporters the prefixes of the name at each "/".
  std::vector<std::string> modules;
  std::string node, op; // of a folded module: its name, and ""
  int64_t nodes = 1;
  std::vector<std::vector<int64_t>> outputs; // shapes that others read
  int64_t parameters = 0;                    // elements, first read here
  std::vector<std::string> shared; // parameters counted in earlier layers
  double flops = 0;                // forward; a multiply-add is two
};

/// Names of a location in the program; `node` is "" if it has none.
struct LayerName {
  std::string node, op;
  std::vector<std::string> modules;
};
using LayerNames = llvm::function_ref<LayerName(mlir::Location)>;

/// The layers of `predict`, an imported program. Computations on parameters
/// alone belong to the layer that reads their result.
std::vector<Layer> layersOf(mlir::func::FuncOp predict, LayerNames names);

/// Replaces modules of this depth by one layer each, at the position of their
/// first node; nodes outside of such modules stay. 0: one layer in all.
std::vector<Layer> folded(const std::vector<Layer> &layers, int64_t depth);

/// "/l/l.0/conv1/Conv": l, l.0, l.0.conv1.
std::vector<std::string> modulesOf(llvm::StringRef node);

} // namespace dlc
