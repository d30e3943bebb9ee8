// SPDX-License-Identifier: Apache-2.0
// A graph of ONNX nodes under construction. Its values are identified by name.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/import/file/NodeView.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace onnx {
class GraphProto;
class TensorProto;
class ValueInfoProto;
} // namespace onnx

namespace dlc::exporter {

using Names = std::vector<std::string>;

using import::Settings;

/// ONNX's code of an element type; 8-bit integers of dlc are unsigned.
int32_t onnxType(mlir::Type element);

class StepGraph {
public:
  StepGraph(onnx::GraphProto &graph, mlir::MLIRContext *context)
      : graph(graph), context(context) {}

  /// Reserves `name`; false if it is taken. Generated names never collide with
  /// reserved ones.
  bool claim(const std::string &name) { return taken.insert(name).second; }

  /// Adds a node with one result, and returns the result's name.
  std::string add(llvm::StringRef op, const Names &inputs,
                  const Settings &attributes = {});
  /// The same, with a name that has been reserved.
  void addAs(const std::string &name, llvm::StringRef op, const Names &inputs,
             const Settings &attributes = {});

  /// Constants: a list of integers; a number; the value of an attribute.
  std::string ints(llvm::ArrayRef<int64_t> values);
  std::string number(double value, mlir::Type element);
  std::string constant(mlir::DenseElementsAttr value);
  /// Adds a tensor whose values are set later, from the states.
  void addState(const std::string &name, mlir::RankedTensorType type);

  void addInput(const std::string &name, mlir::RankedTensorType type);
  void addOutput(const std::string &name, mlir::RankedTensorType type);

  std::string cast(const std::string &x, mlir::Type element);
  std::string reshape(const std::string &x, llvm::ArrayRef<int64_t> shape);
  std::string transpose(const std::string &x, llvm::ArrayRef<int64_t> perm);
  /// Elements [start, end) of each dimension, with stride `steps`.
  std::string slice(const std::string &x, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> ends,
                    llvm::ArrayRef<int64_t> steps);
  /// `amounts`: of all dimensions at the start, then at the end.
  std::string pad(const std::string &x, llvm::ArrayRef<int64_t> amounts,
                  const std::string &value);

private:
  std::string freeName(llvm::StringRef stem);
  onnx::TensorProto &addTensor(const std::string &name, mlir::Type element,
                               llvm::ArrayRef<int64_t> shape);

  onnx::GraphProto &graph;
  mlir::MLIRContext *context;
  std::set<std::string> taken;
  std::map<std::string, std::string> constants; // by type and content
  int64_t made = 0;
};

} // namespace dlc::exporter
