// SPDX-License-Identifier: Apache-2.0
// Edits a model's graph and initializers consistently.
#pragma once
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/OnnxFile.h"
#include "compiler/import/tensor/OnnxMessages.h"
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace dlc::import {

/// One input of one node.
struct Use {
  onnx::NodeProto *node;
  int slot;
};

/// A graph that is being edited. Addresses of nodes are stable until it is
/// closed; new nodes are then inserted at the front, which preserves
/// topological order. Costs are linear in the size of the changes.
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
  /// The node that computes the value; null if there is none.
  onnx::NodeProto *maker(const std::string &value) const;
  /// The value is a graph input, a graph output or read by a subgraph of a
  /// node, which `uses` does not include, so it must not be removed.
  bool isFixed(const std::string &name) const { return fixed.count(name); }

  /// `wanted`, or `wanted` with a suffix, such that the name is unused.
  std::string unusedName(const std::string &wanted);
  /// Adds an initializer of an unused name.
  void addInitializer(const std::string &name, Weight weight);
  /// The same, for a tensor whose bytes the model takes over.
  void ownInitializer(const std::string &name, DType dtype,
                      std::vector<int64_t> shape, std::string bytes);
  /// Replaces the shape and contents of an initializer.
  void replaceInitializer(const std::string &name, std::vector<int64_t> shape,
                          std::string bytes);
  /// Adds a vector of integers as an initializer, or returns an equal one that
  /// was added before.
  std::string integers(const std::vector<int64_t> &values);
  /// Adds a shape whose first dimension is that of the graph's first input if
  /// the file leaves it symbolic.
  std::string shapeOfBatch(const std::vector<int64_t> &shape);
  /// Adds a node before all others, with one output of a new name.
  onnx::NodeProto &addNode(const std::string &op,
                           const std::vector<std::string> &inputs,
                           const std::string &output,
                           const Settings &settings = {});
  /// The same; returns the name of its output, which is unusedName(wanted).
  std::string add(const std::string &op, const std::vector<std::string> &inputs,
                  const std::string &wanted, const Settings &settings = {});
  /// The node was added by this edit.
  bool isNew(const onnx::NodeProto &node) const { return added.count(&node); }
  void redirect(const Use &use, const std::string &to);
  /// Redirects all uses of `from` by nodes that this edit did not add.
  void redirectOld(const std::string &from, const std::string &to);
  /// ONNX's element type of an initializer.
  int typeOf(const std::string &name) const;
  /// Sets an omitted input of a node.
  void attach(onnx::NodeProto &node, int slot, const std::string &value);
  /// Removes a node when the graph is closed.
  void remove(const onnx::NodeProto &node);
  /// Number of inputs of original nodes that read another value, and of nodes
  /// that were removed.
  int changes() const { return changed; }
  /// Nothing was changed or added.
  bool isAsItWas() const {
    return !changed && added.empty() && order.size() == oldInitializers;
  }
  /// Drops removed nodes and initializers without remaining uses, and moves new
  /// nodes to the front.
  void close();

private:
  OnnxFile &file;
  int oldNodes, changed = 0;
  size_t oldInitializers;
  std::vector<std::string> order; // of initializers
  std::unordered_set<std::string> initializer, names, fixed, orphans, reshaped;
  std::unordered_set<const onnx::NodeProto *> added, removed;
  std::unordered_map<std::string, std::vector<Use>> users;
  std::unordered_map<std::string, onnx::NodeProto *> makers;
  std::unordered_map<std::string, std::string> vectors;
  std::unordered_map<std::string, int> marks; // suffixes of names
  std::unordered_map<std::string, onnx::TensorProto *> tensors;

  void dropOrphans();
};

/// Declares an initializer as an input, too, if the IR version requires that.
void declareInitializer(onnx::ModelProto &model,
                        const onnx::TensorProto &tensor);
void setDims(onnx::TensorProto &tensor, const std::vector<int64_t> &shape);

/// Removes elements of a protobuf list, without moving others in memory.
template <typename Elements, typename Which>
void eraseWhere(Elements &elements, Which which) {
  auto middle =
      std::stable_partition(elements.pointer_begin(), elements.pointer_end(),
                            [&](auto *element) { return !which(*element); });
  const int kept = int(middle - elements.pointer_begin());
  elements.DeleteSubrange(kept, elements.size() - kept);
}

/// Sorts the nodes of the file and of its graph topologically. Code::BadModel
/// if they have a cycle.
Status putInOrder(OnnxFile &file);

} // namespace dlc::import
