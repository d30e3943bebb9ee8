// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/reduce/ModelParts.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/OnnxFile.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/tensor/DataType.h"
#include "compiler/import/tensor/ExternalData.h"
#include "runtime/base/numbers/ParseNumber.h"
#include <algorithm>

namespace dlc::import {
namespace {

constexpr uint64_t kMostBytes = (uint64_t(2) << 30) - 1; // limit of protobuf

bool isExternal(const onnx::TensorProto &tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL;
}

/// The length in the file, or the size of its shape and type.
uint64_t externalBytes(const onnx::TensorProto &tensor) {
  for (const auto &entry : tensor.external_data())
    if (entry.key() == "length")
      return asNumber<uint64_t>(entry.value()).value_or(0);
  const auto type = toDType(tensor.data_type());
  uint64_t bytes = type ? sizeOf(*type) : 0;
  for (const int64_t dim : tensor.dims())
    if (__builtin_mul_overflow(bytes, uint64_t(dim), &bytes))
      return kMostBytes;
  return bytes;
}

/// Operators {domain, name} of a graph and its subgraphs.
using CalledOperators = std::set<std::pair<std::string, std::string>>;
template <class Nodes>
void addCalled(const Nodes &nodes, CalledOperators &names) {
  for (const onnx::NodeProto &node : nodes) {
    names.emplace(node.domain(), node.op_type());
    for (const auto &attribute : node.attribute()) {
      if (attribute.has_g())
        addCalled(attribute.g().node(), names);
      for (const auto &graph : attribute.graphs())
        addCalled(graph.node(), names);
    }
  }
}

} // namespace

Result<ModelParts> ModelParts::open(const std::string &path) {
  ModelParts parts;
  parts.path = path;
  DLC_ASSIGN(auto parsed, parseOnnx(path));
  parts.model = parsed;
  const onnx::GraphProto &graph = parts.graph();
  for (int i = 0; i < graph.node_size(); ++i) {
    const bool isConstant = operatorName(graph.node(i)) == "Constant";
    for (const std::string &output : graph.node(i).output())
      if (!output.empty())
        (isConstant ? parts.constants : parts.makers)[output] =
            isConstant ? i : parts.nodes();
    if (!isConstant)
      parts.places.push_back(i);
  }
  for (const auto *values :
       {&graph.value_info(), &graph.input(), &graph.output()})
    for (const auto &info : *values)
      if (info.type().has_tensor_type() &&
          info.type().tensor_type().has_shape())
        parts.types[info.name()] = info.type();
  for (const auto &tensor : graph.initializer())
    parts.initializers[tensor.name()] = &tensor;
  for (const auto &tensor : graph.sparse_initializer())
    parts.sparse[tensor.values().name()] = &tensor;
  for (const auto &info : graph.input())
    parts.graphInputs.insert(info.name());
  for (const auto &info : graph.output())
    parts.graphOutputs.insert(info.name());
  return parts;
}

std::string ModelParts::labelOf(int number) const {
  const onnx::NodeProto &n = node(number);
  return fmt::format("{} '{}'", n.op_type(), nodeLabel(n));
}

std::set<std::string> ModelParts::reads(const onnx::NodeProto &node) const {
  std::set<std::string> names = namesFromOutside(node);
  names.insert(node.input().begin(), node.input().end());
  names.erase("");
  return names;
}

const int *ModelParts::makerOf(const std::string &tensor) const {
  const auto found = makers.find(tensor);
  return found == makers.end() ? nullptr : &found->second;
}

const onnx::TypeProto *ModelParts::typeOf(const std::string &tensor) const {
  const auto found = types.find(tensor);
  return found == types.end() ? nullptr : &found->second;
}

std::vector<int> ModelParts::ancestors(const std::vector<int> &nodes,
                                       int number) const {
  const std::set<int> among(nodes.begin(), nodes.end());
  std::set<int> found{number};
  std::vector<int> open{number};
  while (!open.empty()) {
    const onnx::NodeProto &next = node(open.back());
    open.pop_back();
    for (const std::string &name : reads(next))
      if (const int *maker = makerOf(name);
          maker && among.count(*maker) && found.insert(*maker).second)
        open.push_back(*maker);
  }
  return {found.begin(), found.end()};
}

/// A model under construction.
class ModelParts::Part {
public:
  explicit Part(const ModelParts &whole)
      : of(whole), external(whole.path, Budget()) {
    made.set_ir_version(of.model->ir_version());
    made.set_producer_name(of.model->producer_name());
    made.set_producer_version(of.model->producer_version());
    *made.mutable_opset_import() = of.model->opset_import();
    *made.mutable_metadata_props() = of.model->metadata_props();
    made.mutable_graph()->set_name(of.graph().name());
  }

  /// False if it cannot be built.
  Result<bool> add(const std::vector<int> &nodes,
                   const std::vector<std::string> &outputs) {
    std::set<int> chosen; // indices in the graph
    for (const int node : nodes) {
      chosen.insert(of.places[size_t(node)]);
      read.merge(of.reads(of.node(node)));
    }
    read.insert(outputs.begin(), outputs.end());
    for (const std::string &name : read)
      if (const auto found = of.constants.find(name);
          found != of.constants.end())
        chosen.insert(found->second);
    for (const int place : chosen) {
      const onnx::NodeProto &node = of.graph().node(place);
      *made.mutable_graph()->add_node() = node;
      own.insert(node.output().begin(), node.output().end());
    }
    DLC_ASSIGN(const bool isFed, addInputs());
    if (!isFed)
      return false;
    if (outputs.empty())
      findOutputs(nodes);
    else
      for (const std::string &name : outputs)
        addOutput(name);
    for (const auto &info : of.graph().value_info())
      if (own.count(info.name()))
        *made.mutable_graph()->add_value_info() = info;
    addFunctions();
    return true;
  }

  std::optional<std::string> bytes() const {
    if (made.ByteSizeLong() > kMostBytes)
      return std::nullopt;
    return made.SerializeAsString();
  }

private:
  Result<bool> addInputs() {
    onnx::GraphProto &graph = *made.mutable_graph();
    for (const auto &info : of.graph().input()) // in the graph's order
      if (read.count(info.name()))
        *graph.add_input() = info;
    for (const std::string &name : read) {
      if (own.count(name))
        continue;
      if (const auto found = of.initializers.find(name);
          found != of.initializers.end()) {
        DLC_ASSIGN(const bool isAdded, addInitializer(*found->second));
        if (!isAdded)
          return false;
      } else if (const auto at = of.sparse.find(name); at != of.sparse.end()) {
        *graph.add_sparse_initializer() = *at->second;
      } else if (of.graphInputs.count(name) == 0) {
        const onnx::TypeProto *type = of.typeOf(name);
        if (!type)
          return false;
        auto *info = graph.add_input();
        info->set_name(name);
        *info->mutable_type() = *type;
      }
    }
    return true;
  }

  Result<bool> addInitializer(const onnx::TensorProto &tensor) {
    if (size +=
        isExternal(tensor) ? externalBytes(tensor) : tensor.ByteSizeLong();
        size > kMostBytes)
      return false;
    onnx::TensorProto &copy = *made.mutable_graph()->add_initializer();
    copy = tensor;
    if (!isExternal(tensor))
      return true;
    DLC_ASSIGN(const auto range,
               external.find(tensor, size_t(externalBytes(tensor))));
    copy.clear_external_data();
    copy.clear_data_location();
    copy.set_raw_data(range.bytes.data(), range.bytes.size());
    return true;
  }

  /// Adds outputs such that each node has a result that is read or an output.
  void findOutputs(const std::vector<int> &nodes) {
    for (const int number : nodes) {
      const auto &results = of.node(number).output();
      bool isUsed = std::ranges::any_of(
          results, [&](auto &name) { return read.count(name) > 0; });
      for (const std::string &name : results)
        if (of.graphOutputs.count(name))
          addOutput(name), isUsed = true;
      for (const std::string &name : results)
        if (!isUsed && !name.empty())
          addOutput(name), isUsed = true;
    }
  }

  void addOutput(const std::string &name) {
    auto *info = made.mutable_graph()->add_output();
    info->set_name(name);
    if (const onnx::TypeProto *type = of.typeOf(name))
      *info->mutable_type() = *type;
  }

  /// Adds functions that are called, directly or indirectly.
  void addFunctions() {
    CalledOperators called;
    addCalled(made.graph().node(), called);
    std::set<int> taken;
    for (bool isMore = true; isMore;) {
      isMore = false;
      for (int i = 0; i < of.model->functions_size(); ++i)
        if (const auto &function = of.model->functions(i);
            called.count({function.domain(), function.name()}) &&
            taken.insert(i).second) {
          addCalled(function.node(), called);
          isMore = true;
        }
    }
    for (const int i : taken)
      *made.add_functions() = of.model->functions(i);
  }

  const ModelParts &of;
  ExternalData external;
  onnx::ModelProto made;
  std::set<std::string> read, own;
  uint64_t size = 0;
};

Result<std::optional<std::string>>
ModelParts::make(const std::vector<int> &nodes,
                 const std::vector<std::string> &outputs) const {
  Part part(*this);
  DLC_ASSIGN(const bool isWhole, part.add(nodes, outputs));
  return isWhole ? part.bytes() : std::nullopt;
}

} // namespace dlc::import
