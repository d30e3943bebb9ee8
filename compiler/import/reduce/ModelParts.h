// SPDX-License-Identifier: Apache-2.0
// Models of some of a model's nodes.
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

/// A parsed model, of whose nodes any may be left out. A node is its number
/// among those of the main graph that are no Constant: these come with what
/// reads them, as initializers and functions do.
class ModelParts {
public:
  /// Checks of the file no more than that it is ONNX (Code::BadModel).
  static Result<ModelParts> open(const std::string &path);

  int nodes() const { return int(places.size()); }
  /// "Conv 'conv1'", by its first result if it has no name.
  std::string labelOf(int node) const;
  const onnx::NodeProto &node(int node) const {
    return model->graph().node(places[size_t(node)]);
  }
  const onnx::GraphProto &graph() const { return model->graph(); }
  /// Those of `nodes` that `node` depends on, and itself.
  std::vector<int> ancestors(const std::vector<int> &nodes, int node) const;
  /// Names of tensors that a node reads, also in graphs inside of it.
  std::set<std::string> reads(const onnx::NodeProto &node) const;
  /// Nobody makes it but one of the nodes, which is no Constant.
  const int *makerOf(const std::string &tensor) const;

  /// What a tensor is that a part gets as an input instead of making it: by
  /// value_info, until told otherwise.
  const onnx::TypeProto *typeOf(const std::string &tensor) const;
  void setType(const std::string &tensor, onnx::TypeProto type) {
    types[tensor] = std::move(type);
  }

  /// The bytes of a model of these nodes (ascending): what they read of others
  /// are its inputs, what nobody reads, or the model has as output, its
  /// outputs, unless `outputs` are given. External data is in it. Nothing: the
  /// type of an input is not known, or it has 2 GiB or more. A damaged external
  /// file is an error.
  Result<std::optional<std::string>>
  make(const std::vector<int> &nodes,
       const std::vector<std::string> &outputs = {}) const;

private:
  class Part;

  std::string path;
  std::shared_ptr<const onnx::ModelProto> model;
  std::vector<int> places; // in the graph, of each node
  std::unordered_map<std::string, int> makers, constants; // node; place
  std::unordered_map<std::string, onnx::TypeProto> types;
  std::unordered_map<std::string, const onnx::TensorProto *> initializers;
  std::unordered_map<std::string, const onnx::SparseTensorProto *> sparse;
  std::set<std::string> graphInputs, graphOutputs;
};

} // namespace dlc::import
