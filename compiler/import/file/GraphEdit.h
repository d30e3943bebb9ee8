// SPDX-License-Identifier: Apache-2.0
// Changes to a model's graph and initializers, both kept in step.
#pragma once
#include "compiler/import/file/OnnxFile.h"
#include <unordered_map>
#include <unordered_set>

namespace onnx {
class GraphProto;
class TensorProto;
} // namespace onnx

namespace dlc::import {

/// One input of one node.
struct Use {
  onnx::NodeProto *node;
  int slot;
};

/// An open graph. Nodes keep their addresses; new ones come first in the graph
/// when it is closed, so that an order of nodes stays one. Costs are linear in
/// what changes.
class GraphEdit {
public:
  explicit GraphEdit(OnnxFile &file);

  onnx::GraphProto &graph;
  WeightStore &weights;

  const std::vector<std::string> &initializers() const { return order; }
  const Weight *weight(const std::string &name) const {
    return initializer.count(name) ? weights.find(name) : nullptr;
  }
  std::vector<Use> uses(const std::string &name) const;
  /// A graph input, a graph output, or a value that a graph inside of a node
  /// reads, which is none of `uses`: it must stay.
  bool isFixed(const std::string &name) const { return fixed.count(name); }

  /// `wanted`, or that with marks behind, which nothing has.
  std::string unusedName(const std::string &wanted);
  /// Adds an initializer of that (unused) name and shape.
  void addInitializer(const std::string &name, Weight weight);
  /// The same, for a tensor whose bytes are made here.
  void ownInitializer(const std::string &name, DType dtype,
                      std::vector<int64_t> shape, std::string bytes);
  /// Gives an initializer another shape and contents.
  void replaceInitializer(const std::string &name, std::vector<int64_t> shape,
                          std::string bytes);
  /// A vector of integers as an initializer; equal ones are made once.
  std::string integers(const std::vector<int64_t> &values);
  /// A shape whose first dimension is that of the graph's first input, where
  /// the file leaves that open.
  std::string shapeOfBatch(const std::vector<int64_t> &shape);
  /// Adds a node before all others; returns the name of its output.
  onnx::NodeProto &addNode(const std::string &op,
                           const std::vector<std::string> &inputs,
                           const std::string &output);
  /// One that joins `inputs` along their first axis.
  void addConcat(const std::vector<std::string> &inputs,
                 const std::string &output);
  /// The node was added here.
  bool isNew(const onnx::NodeProto &node) const { return added.count(&node); }
  void redirect(const Use &use, const std::string &to);
  /// ONNX's number of an initializer's element type.
  int typeOf(const std::string &name) const;
  /// Sets an input of a node that it left out.
  void attach(onnx::NodeProto &node, int slot, const std::string &value);
  /// Takes a node away when the graph is closed.
  void remove(const onnx::NodeProto &node);
  /// How many inputs of nodes that were there read another value, and nodes
  /// were taken away.
  int changes() const { return changed; }
  /// Nothing was changed or added.
  bool isAsItWas() const {
    return !changed && added.empty() && order.size() == oldInitializers;
  }
  /// Drops removed nodes and initializers that lost all their uses, and moves
  /// new nodes to the front.
  void close();

private:
  OnnxFile &file;
  int oldNodes, changed = 0;
  size_t oldInitializers;
  std::vector<std::string> order; // of initializers
  std::unordered_set<std::string> initializer, names, fixed, orphans, reshaped;
  std::unordered_set<const onnx::NodeProto *> added, removed;
  std::unordered_map<std::string, std::vector<Use>> users;
  std::unordered_map<std::string, std::string> vectors;
  std::unordered_map<std::string, int> marks; // behind names
  std::unordered_map<std::string, onnx::TensorProto *> tensors;

  void dropOrphans();
};

/// Makes an initializer an input, too, as IR versions before 4 want it.
void declareInitializer(onnx::GraphProto &graph,
                        const onnx::TensorProto &tensor);

/// Sorts the file's nodes, and the graph's, into an order of use. BadModel
/// where there is none.
Status putInOrder(OnnxFile &file);

} // namespace dlc::import
