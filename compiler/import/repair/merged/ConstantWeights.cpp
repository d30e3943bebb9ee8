// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "compiler/import/roles/Roles.h"
#include "compiler/import/tensor/DataType.h"
#include "compiler/import/tensor/ExternalData.h"
#include "compiler/import/tensor/TensorData.h"
#include "onnx-ml.pb.h"
#include <algorithm>

namespace dlc::import {
namespace {

class ConstantTaker {
public:
  explicit ConstantTaker(OnnxFile &file)
      : file(file), graph(*file.model->mutable_graph()),
        external(file.path, file.budget) {}

  Status run() {
    DLC_TRY(separateNames(file));
    for (const auto &node : graph.node())
      flow.addWithBodies(node);
    visit(graph);
    if (offers.empty())
      return {};
    DLC_ASSIGN(auto roles, findRoles(file, {}));
    const bool none = isTrainedWithout(roles);
    for (Offer &offer : offers)
      if (offer.node && (none || roles[offer.name].role == Role::Constant ||
                         isChoice(offer.name)))
        file.weights.remove(offer.name);
      else
        DLC_TRY(take(offer));
    auto isTaken = [&](auto &item) { return taken.count(&item) > 0; };
    for (onnx::GraphProto *owner : owners) {
      eraseWhere(*owner->mutable_node(), isTaken);
      eraseWhere(*owner->mutable_initializer(), isTaken);
    }
    DLC_ASSIGN(file.nodes, sortedNodes(graph));
    return {};
  }

private:
  struct Offer {
    std::string name;
    onnx::GraphProto *owner;
    const onnx::NodeProto *node; // null: an initializer of a subgraph
    onnx::TensorProto *tensor;
    std::shared_ptr<onnx::TensorProto> made; // converted from a list of floats
  };

  /// Records candidates for weights.
  void visit(onnx::GraphProto &at) {
    if (&at != &graph)
      for (auto &tensor : *at.mutable_initializer())
        offer({tensor.name(), &at, nullptr, &tensor, nullptr});
    for (auto &node : *at.mutable_node()) {
      const bool isConstant =
          operatorName(node) == "Constant" && node.output_size() == 1;
      for (auto &attribute : *node.mutable_attribute())
        if (attribute.has_g())
          visit(*attribute.mutable_g());
        else if (isConstant)
          offer(node, attribute, at);
    }
  }

  void offer(const onnx::NodeProto &node, onnx::AttributeProto &attribute,
             onnx::GraphProto &at) {
    if (attribute.name() == "value" && attribute.has_t())
      return offer(
          {node.output(0), &at, &node, attribute.mutable_t(), nullptr});
    if (attribute.name() != "value_floats")
      return;
    auto made = std::make_shared<onnx::TensorProto>();
    made->set_data_type(onnx::TensorProto::FLOAT);
    made->add_dims(attribute.floats_size());
    *made->mutable_float_data() = attribute.floats();
    offer({node.output(0), &at, &node, made.get(), made});
  }

  /// Adds the value as a weight, for findRoles.
  void offer(Offer found) {
    const auto dtype = toDType(found.tensor->data_type());
    if (!dtype || !isFloat(*dtype) || isNarrow(found.tensor->data_type()) ||
        file.weights.find(found.name) ||
        !addTensor(*found.tensor, found.name, external, file.weights).ok())
      return;
    if (!found.node || !file.weights.find(found.name)->shape.empty())
      offers.push_back(std::move(found));
    else
      file.weights.remove(found.name);
  }

  /// A file of torch whose own initializers are trained.
  bool isTrainedWithout(const std::map<std::string, Found> &roles) const {
    if (!isOfTorch(*file.model))
      return false;
    std::unordered_set<std::string> offered;
    for (const Offer &offer : offers)
      offered.insert(offer.name);
    return std::ranges::any_of(roles, [&](const auto &entry) {
      return entry.second.role == Role::Param && !offered.count(entry.first);
    });
  }

  /// A few numbers from which a Gather selects, such as factors of a size.
  bool isChoice(const std::string &name) {
    constexpr int64_t kFew = 16;
    return file.weights.find(name)->elements() <= kFew &&
           std::ranges::any_of(flow.readers(name), [](auto &reader) {
             return reader.node->op_type() == "Gather";
           });
  }

  Status take(Offer &offer) {
    onnx::TensorProto &tensor = *graph.add_initializer();
    tensor.Swap(offer.tensor);
    tensor.set_name(offer.name);
    DLC_TRY(addTensor(tensor, offer.name, external, file.weights));
    declareInitializer(*file.model, tensor);
    owners.insert(offer.owner);
    if (offer.owner != &graph)
      keepOutputs(*offer.owner, offer.name);
    taken.insert({offer.node, offer.tensor});
    file.decisions.push_back(
        {offer.name, offer.node ? "of a node" : "of a body",
         offer.node ? "is a weight, which the file has as a Constant node"
                    : "is an initializer of a graph inside of a node"});
    return {};
  }

  /// Outputs of a subgraph must be computed inside of it.
  void keepOutputs(onnx::GraphProto &owner, const std::string &name) {
    for (auto &output : *owner.mutable_output()) {
      if (output.name() != name)
        continue;
      std::string made = name + "/given";
      while (flow.maker(made) || file.weights.find(made))
        made += "'";
      auto &node = *owner.add_node();
      node = newNode("Identity", "", {name}, {made});
      flow.add(node);
      output.set_name(made);
    }
  }

  OnnxFile &file;
  onnx::GraphProto &graph;
  ExternalData external;
  std::vector<Offer> offers;
  std::unordered_set<const void *> taken; // nodes and initializers
  std::set<onnx::GraphProto *> owners;
  ValueFlow flow;
};

} // namespace

Status takeConstants(OnnxFile &file) { return ConstantTaker(file).run(); }

} // namespace dlc::import
