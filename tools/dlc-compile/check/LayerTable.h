// SPDX-License-Identifier: Apache-2.0
// A model's layers in its order, as torchinfo lists them.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// An ONNX node that computes something of the model's inputs; or a module that
/// is folded, with all that is in it.
struct Layer {
  /// The modules around it by their dotted names, the outermost first: "b.0",
  /// "b.0.qkv"; of other exporters what stands before each "/" of the name.
  std::vector<std::string> modules;
  std::string node, op; // of a folded module: its name, and ""
  int64_t nodes = 1;
  std::vector<std::vector<int64_t>> outputs; // shapes of what others read
  int64_t parameters = 0;                    // elements, read here first
  std::vector<std::string> shared; // parameters that are counted above
  double flops = 0;                // forward; a multiply-add counts two
};

/// What a location of the program is called; node: "" where it is none.
struct LayerName {
  std::string node, op;
  std::vector<std::string> modules;
};
using LayerNames = llvm::function_ref<LayerName(mlir::Location)>;

/// The layers of `predict`, a program as it is imported. What is computed of
/// parameters alone belongs to the layer that reads the result.
std::vector<Layer> layersOf(mlir::func::FuncOp predict, LayerNames names);

/// Modules of that depth as one layer each, where their first node is; what is
/// less deep stays. 0: all is one.
std::vector<Layer> folded(const std::vector<Layer> &layers, int64_t depth);

/// "/l/l.0/conv1/Conv": l, l.0, l.0.conv1.
std::vector<std::string> modulesOf(llvm::StringRef node);

} // namespace dlc
