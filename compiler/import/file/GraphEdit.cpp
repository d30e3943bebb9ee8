// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/GraphEdit.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include <algorithm>
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
  for (int64_t dim : weight.shape)
    tensor.add_dims(dim);
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
  onnx::TensorProto &tensor = *tensors.at(name);
  reshaped.insert(name);
  ++changed;
  tensor.clear_dims();
  for (int64_t dim : shape)
    tensor.add_dims(dim);
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
  std::string whole = unusedName("input/shape"),
              first = unusedName("input/batch"),
              target = unusedName("expanded/shape");
  addNode("Shape", {graph.input(0).name()}, whole);
  addNode("Slice", {whole, integers({0}), integers({1}), integers({0})}, first);
  addConcat({first, integers({shape.begin() + 1, shape.end()})}, target);
  return target;
}

void GraphEdit::addConcat(const std::vector<std::string> &inputs,
                          const std::string &output) {
  auto &axis = *addNode("Concat", inputs, output).add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_i(0);
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
                                    const std::string &output) {
  auto &node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(output);
  node.add_output(output);
  names.insert(output);
  added.insert(&node);
  file.added.insert(output);
  for (const std::string &input : inputs)
    attach(node, node.input_size(), input);
  return node;
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

/// Stable partition that moves elements for which `last` is true to the end;
/// returns the number of others. Addresses of elements do not change.
template <typename Elements, typename Last>
static int moveBehind(Elements &elements, Last last) {
  auto middle = std::stable_partition(
      elements.pointer_begin(), elements.pointer_end(),
      [&](const auto *element) { return !last(*element); });
  return int(middle - elements.pointer_begin());
}

void GraphEdit::close() {
  if (isAsItWas())
    return;
  auto &nodes = *graph.mutable_node();
  std::rotate(nodes.pointer_begin(), nodes.pointer_begin() + oldNodes,
              nodes.pointer_end());
  int kept = moveBehind(nodes, [&](const onnx::NodeProto &node) {
    return removed.count(&node) > 0;
  });
  nodes.DeleteSubrange(kept, nodes.size() - kept);
  dropOrphans();
  auto &infos = *graph.mutable_value_info();
  kept = moveBehind(infos, [&](const onnx::ValueInfoProto &info) {
    return reshaped.count(info.name()) > 0;
  });
  infos.DeleteSubrange(kept, infos.size() - kept);
}

void GraphEdit::dropOrphans() {
  for (const auto &node : graph.node())
    for (const std::string &input : node.input())
      orphans.erase(input);
  auto &tensors = *graph.mutable_initializer();
  int kept = moveBehind(tensors, [&](const onnx::TensorProto &tensor) {
    return orphans.count(tensor.name()) && !fixed.count(tensor.name());
  });
  std::vector<onnx::TensorProto *> dropped(size_t(tensors.size() - kept));
  tensors.ExtractSubrange(kept, tensors.size() - kept, dropped.data());
  for (onnx::TensorProto *tensor : dropped) {
    weights.remove(tensor->name());
    // Weights that were split off are views of its bytes.
    weights.keep(std::shared_ptr<const onnx::TensorProto>(tensor));
  }
}

void declareInitializer(onnx::GraphProto &graph,
                        const onnx::TensorProto &tensor) {
  auto &input = *graph.add_input();
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
