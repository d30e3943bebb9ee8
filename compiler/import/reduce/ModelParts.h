// SPDX-License-Identifier: Apache-2.0
// Builds models from subsets of a model's nodes.
#pragma once

#include "onnx-ml.pb.h"
#include "runtime/base/Status.h"
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace dlc::import {

/// A parsed model from which any nodes may be removed. A node is an index among
/// the nodes of the main graph other than Constants, which are included with
/// their readers, as initializers and functions are.
class ModelParts {
public:
  /// Only checks that the file is ONNX (Code::BadModel).
  static Result<ModelParts> open(const std::string &path);

  int nodes() const { return int(places.size()); }
  /// "Conv 'conv1'"; a node without a name is called by its first result.
  std::string labelOf(int node) const;
  const onnx::NodeProto &node(int node) const {
    return model->graph().node(places[size_t(node)]);
  }
  const onnx::GraphProto &graph() const { return model->graph(); }
  /// `node` and the members of `nodes` that it depends on.
  std::vector<int> ancestors(const std::vector<int> &nodes, int node) const;
  /// Names of tensors that a node or its subgraphs read.
  std::set<std::string> reads(const onnx::NodeProto &node) const;
  /// The node that computes the tensor; null for other tensors and Constants.
  const int *makerOf(const std::string &tensor) const;

  /// Type of a tensor that becomes a model input, from value_info unless
  /// setType has replaced it.
  const onnx::TypeProto *typeOf(const std::string &tensor) const;
  void setType(const std::string &tensor, onnx::TypeProto type) {
    types[tensor] = std::move(type);
  }

  /// Serializes a model of these nodes (ascending). Its inputs are values that
  /// other nodes compute; its outputs, unless `outputs` is given, are unread
  /// results and outputs of the whole model. External data is embedded. nullopt
  /// if an input's type is unknown or the model has 2 GiB or more. An error for
  /// a damaged external file.
  Result<std::optional<std::string>>
  make(const std::vector<int> &nodes,
       const std::vector<std::string> &outputs = {}) const;

private:
  class Part;

  std::string path;
  std::shared_ptr<const onnx::ModelProto> model;
  std::vector<int> places; // index in the graph of each node
  std::unordered_map<std::string, int> makers, constants; // node; place
  std::unordered_map<std::string, onnx::TypeProto> types;
  std::unordered_map<std::string, const onnx::TensorProto *> initializers;
  std::unordered_map<std::string, const onnx::SparseTensorProto *> sparse;
  std::set<std::string> graphInputs, graphOutputs;
};

/// Sets the types of node results (ModelParts::setType) by importing the model;
/// if that fails, its halves with their dependencies, down to single nodes.
/// Sizes that depend on the batch are NAME or NUMBER*NAME, with the name of the
/// inputs' first dimension; `dims` binds other symbolic ones. Tensors that
/// cannot be imported keep the type that the file declares.
Status learnTypes(ModelParts &parts,
                  const std::map<std::string, int64_t> &dims);

} // namespace dlc::import
