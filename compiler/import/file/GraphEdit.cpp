// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/GraphEdit.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include <cstring>
#include <fmt/ranges.h>

namespace dlc::import {

GraphEdit::GraphEdit(OnnxFile &file)
    : graph(*file.model->mutable_graph()), weights(file.weights), file(file),
      oldNodes(graph.node_size()),
      oldInitializers(size_t(graph.initializer_size())) {
  for (auto &tensor : *graph.mutable_initializer()) {
    order.push_back(tensor.name());
    initializer.insert(tensor.name());
    tensors[tensor.name()] = &tensor;
  }
  names = initializer;
  for (const auto *values : {&graph.input(), &graph.output()})
    for (const auto &value : *values) {
      names.insert(value.name());
      fixed.insert(value.name());
    }
  for (auto &node : *graph.mutable_node()) {
    names.insert(node.output().begin(), node.output().end());
    for (const std::string &output : node.output())
      makers[output] = &node;
    for (int i = 0; i < node.input_size(); ++i)
      users[node.input(i)].push_back({&node, i});
    for (const std::string &name : namesFromOutside(node))
      fixed.insert(name);
  }
}

std::vector<Use> GraphEdit::uses(const std::string &name) const {
  std::vector<Use> current;
  auto it = users.find(name);
  if (it == users.end())
    return current;
  for (const Use &use : it->second)
    if (use.node->input(use.slot) == name && !removed.count(use.node))
      current.push_back(use);
  return current;
}

onnx::NodeProto *GraphEdit::maker(const std::string &value) const {
  auto it = makers.find(value);
  return it == makers.end() ? nullptr : it->second;
}

std::string GraphEdit::unusedName(const std::string &wanted) {
  std::string name = wanted;
  while (names.count(name))
    name = fmt::format("{}'{}", wanted, ++marks[wanted] + 1);
  return name;
}

void GraphEdit::addInitializer(const std::string &name, Weight weight) {
  auto &tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(toOnnxType(weight.dtype));
  setDims(tensor, weight.shape);
  order.push_back(name);
  initializer.insert(name);
  tensors[name] = &tensor;
  names.insert(name);
  file.added.insert(name);
  weights.add(name, std::move(weight));
}

void GraphEdit::ownInitializer(const std::string &name, DType dtype,
                               std::vector<int64_t> shape, std::string bytes) {
  addInitializer(name, {dtype, shape, nullptr, 0});
  weights.own(name, dtype, std::move(shape), std::move(bytes));
}

void GraphEdit::replaceInitializer(const std::string &name,
                                   std::vector<int64_t> shape,
                                   std::string bytes) {
  reshaped.insert(name);
  ++changed;
  setDims(*tensors.at(name), shape);
  weights.own(name, weights.find(name)->dtype, std::move(shape),
              std::move(bytes));
}

std::string GraphEdit::shapeOfBatch(const std::vector<int64_t> &shape) {
  const bool isOpen =
      shape[0] > 1 && graph.input_size() &&
      graph.input(0).type().tensor_type().shape().dim_size() &&
      graph.input(0).type().tensor_type().shape().dim(0).dim_value() <= 0;
  if (!isOpen)
    return integers(shape);
  std::string whole = add("Shape", {graph.input(0).name()}, "input/shape");
  std::string first =
      add("Slice", {whole, integers({0}), integers({1}), integers({0})},
          "input/batch");
  return add("Concat", {first, integers({shape.begin() + 1, shape.end()})},
             "expanded/shape", {{"axis", 0}});
}

std::string GraphEdit::integers(const std::vector<int64_t> &values) {
  std::string bytes(values.size() * sizeof(int64_t), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  auto [it, first] = vectors.emplace(bytes, "");
  if (first) {
    it->second =
        unusedName(values.size() > 8 ? fmt::format("index/{}", vectors.size())
                                     : fmt::format("{}", values));
    ownInitializer(it->second, DType::I64, {int64_t(values.size())},
                   std::move(bytes));
  }
  return it->second;
}

onnx::NodeProto &GraphEdit::addNode(const std::string &op,
                                    const std::vector<std::string> &inputs,
                                    const std::string &output,
                                    const Settings &settings) {
  auto &node = *graph.add_node();
  node = newNode(op, output, {}, {output}, settings);
  names.insert(output);
  makers[output] = &node;
  added.insert(&node);
  file.added.insert(output);
  for (const std::string &input : inputs)
    attach(node, node.input_size(), input);
  return node;
}

std::string GraphEdit::add(const std::string &op,
                           const std::vector<std::string> &inputs,
                           const std::string &wanted,
                           const Settings &settings) {
  return addNode(op, inputs, unusedName(wanted), settings).output(0);
}

void GraphEdit::attach(onnx::NodeProto &node, int slot,
                       const std::string &value) {
  while (node.input_size() <= slot)
    node.add_input();
  node.set_input(slot, value);
  changed += !isNew(node);
  users[value].push_back({&node, slot});
}

int GraphEdit::typeOf(const std::string &name) const {
  return tensors.at(name)->data_type();
}

void GraphEdit::remove(const onnx::NodeProto &node) {
  removed.insert(&node);
  orphans.insert(node.input().begin(), node.input().end());
  ++changed;
}

void GraphEdit::redirect(const Use &use, const std::string &to) {
  const std::string from = use.node->input(use.slot);
  orphans.insert(from);
  users[to].push_back(use);
  ++changed;
  use.node->set_input(use.slot, to);
}

void GraphEdit::redirectOld(const std::string &from, const std::string &to) {
  for (const Use &use : uses(from))
    if (!isNew(*use.node))
      redirect(use, to);
}

void GraphEdit::close() {
  if (isAsItWas())
    return;
  auto &nodes = *graph.mutable_node();
  std::rotate(nodes.pointer_begin(), nodes.pointer_begin() + oldNodes,
              nodes.pointer_end());
  eraseWhere(nodes, [&](auto &node) { return removed.count(&node) > 0; });
  dropOrphans();
  eraseWhere(*graph.mutable_value_info(),
             [&](auto &info) { return reshaped.count(info.name()) > 0; });
}

void GraphEdit::dropOrphans() {
  for (const auto &node : graph.node())
    for (const std::string &input : node.input())
      orphans.erase(input);
  eraseWhere(*graph.mutable_initializer(), [&](onnx::TensorProto &tensor) {
    const std::string name = tensor.name();
    if (!orphans.count(name) || fixed.count(name))
      return false;
    weights.remove(name);
    // Weights that were split off are views of its bytes.
    weights.keep(std::make_shared<onnx::TensorProto>(std::move(tensor)));
    return true;
  });
}

void setDims(onnx::TensorProto &tensor, const std::vector<int64_t> &shape) {
  tensor.mutable_dims()->Assign(shape.begin(), shape.end());
}

void declareInitializer(onnx::ModelProto &model,
                        const onnx::TensorProto &tensor) {
  if (model.ir_version() >= 4)
    return;
  auto &input = *model.mutable_graph()->add_input();
  input.set_name(tensor.name());
  auto &type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(tensor.data_type());
  for (int64_t dim : tensor.dims())
    type.mutable_shape()->add_dim()->set_dim_value(dim);
}

Status putInOrder(OnnxFile &file) {
  auto &graph = *file.model->mutable_graph();
  DLC_ASSIGN(file.nodes, sortedNodes(graph));
  std::unordered_map<const onnx::NodeProto *, size_t> places;
  for (size_t i = 0; i < file.nodes.size(); ++i)
    places[file.nodes[i]] = i;
  auto &nodes = *graph.mutable_node();
  std::sort(
      nodes.pointer_begin(), nodes.pointer_end(),
      [&](const auto *a, const auto *b) { return places[a] < places[b]; });
  return {};
}

} // namespace dlc::import
