// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/merged/ConstantWeights.h"
#include "compiler/import/file/Conventions.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/GraphEdit.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/roles/Roles.h"
#include "compiler/import/tensor/DataType.h"
#include "compiler/import/tensor/ExternalData.h"
#include "compiler/import/tensor/Floats.h"
#include "compiler/import/tensor/TensorData.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace dlc::import {
namespace {

class ConstantTaker {
public:
  explicit ConstantTaker(OnnxFile &file)
      : file(file), graph(*file.model->mutable_graph()),
        external(file.path, file.budget) {}

  Status run() {
    for (auto &node : *graph.mutable_node())
      if (operatorName(node) == "Constant" && node.output_size() == 1)
        offer(node);
    if (offers.empty())
      return {};
    indexNodes();
    DLC_ASSIGN(auto roles, findRoles(file, {}));
    const bool none = isTrainedWithout(roles);
    for (Offer &offer : offers)
      if (none || roles[offer.name].role == Role::Constant ||
          isOfGroups(offer.name) || isChoice(offer.name))
        file.weights.remove(offer.name);
      else
        take(offer);
    if (taken.empty())
      return {};
    removeNodes();
    DLC_ASSIGN(file.nodes, sortedNodes(graph));
    return {};
  }

private:
  struct Offer {
    std::string name;
    onnx::NodeProto *node;
    onnx::AttributeProto *attribute;
    std::unique_ptr<onnx::TensorProto> made; // of a list of floats
  };

  /// Announces the value as a weight, for findRoles.
  void offer(onnx::NodeProto &node) {
    for (auto &attribute : *node.mutable_attribute()) {
      Offer found{node.output(0), &node, &attribute, nullptr};
      if (attribute.name() == "value_floats") {
        found.made = std::make_unique<onnx::TensorProto>();
        found.made->set_data_type(onnx::TensorProto::FLOAT);
        found.made->add_dims(attribute.floats_size());
        *found.made->mutable_float_data() = attribute.floats();
      } else if (attribute.name() != "value" || !attribute.has_t()) {
        continue;
      }
      const onnx::TensorProto &tensor =
          found.made ? *found.made : attribute.t();
      const auto dtype = toDType(tensor.data_type());
      if (!dtype || !isFloat(*dtype) || isNarrow(tensor.data_type()) ||
          file.weights.find(found.name) ||
          !addTensor(tensor, found.name, external, file.weights).ok())
        continue;
      if (file.weights.find(found.name)->elements() > 1)
        offers.push_back(std::move(found));
      else
        file.weights.remove(found.name);
    }
  }

  void indexNodes() {
    for (const auto &node : graph.node()) {
      for (const std::string &output : node.output())
        makers[output] = &node;
      for (const std::string &input : node.input())
        readers[input].push_back(&node);
    }
  }

  /// A file of torch's whose own initializers are trained.
  bool isTrainedWithout(const std::map<std::string, Found> &roles) const {
    if (!isOfTorch(*file.model))
      return false;
    std::unordered_set<std::string> offered;
    for (const Offer &offer : offers)
      offered.insert(offer.name);
    return std::any_of(roles.begin(), roles.end(), [&](const auto &entry) {
      return entry.second.role == Role::Param && !offered.count(entry.first);
    });
  }

  /// A few numbers that one is chosen of, as factors of a size are.
  bool isChoice(const std::string &name) {
    constexpr int64_t kFew = 16;
    const auto &nodes = readers[name];
    return file.weights.find(name)->elements() <= kFew &&
           std::any_of(nodes.begin(), nodes.end(), [](const auto *node) {
             return node->op_type() == "Gather";
           });
  }

  /// The ones or zeros with which the norm of a group of channels, a reshaped
  /// tensor, is written.
  bool isOfGroups(const std::string &name) {
    const auto &nodes = readers[name];
    if (nodes.empty() || !std::all_of(nodes.begin(), nodes.end(),
                                      [&](auto *n) { return isGrouped(*n); }))
      return false;
    const std::vector<float> values = floatsOf(*file.weights.find(name));
    return std::all_of(values.begin(), values.end(), [&](float value) {
      return value == values[0] && (value == 0 || value == 1);
    });
  }

  bool isGrouped(const onnx::NodeProto &norm) {
    if (norm.op_type() != "InstanceNormalization" || !norm.output_size())
      return false;
    auto maker = makers.find(norm.input(0));
    const auto &next = readers[norm.output(0)];
    return maker != makers.end() && maker->second->op_type() == "Reshape" &&
           !next.empty() &&
           std::all_of(next.begin(), next.end(), [](const auto *reader) {
             return reader->op_type() == "Reshape";
           });
  }

  /// The tensor stays where the store's view of it points.
  void take(Offer &offer) {
    onnx::TensorProto *tensor =
        offer.made ? offer.made.release() : offer.attribute->release_t();
    graph.mutable_initializer()->AddAllocated(tensor);
    tensor->set_name(offer.name);
    if (file.model->ir_version() < 4)
      declareInitializer(graph, *tensor);
    taken.insert(offer.node);
    file.decisions.push_back(
        {offer.name, "of a node",
         "is a weight, which the file has as a Constant node"});
  }

  void removeNodes() {
    auto &nodes = *graph.mutable_node();
    auto middle = std::stable_partition(
        nodes.pointer_begin(), nodes.pointer_end(),
        [&](const onnx::NodeProto *node) { return !taken.count(node); });
    const int kept = int(middle - nodes.pointer_begin());
    nodes.DeleteSubrange(kept, nodes.size() - kept);
  }

  OnnxFile &file;
  onnx::GraphProto &graph;
  ExternalData external;
  std::vector<Offer> offers;
  std::unordered_set<const onnx::NodeProto *> taken;
  std::unordered_map<std::string, const onnx::NodeProto *> makers;
  std::unordered_map<std::string, std::vector<const onnx::NodeProto *>> readers;
};

} // namespace

Status takeConstants(OnnxFile &file) { return ConstantTaker(file).run(); }

} // namespace dlc::import
