// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include <algorithm>

namespace dlc::import {
namespace {

class GiveBack {
public:
  explicit GiveBack(OnnxFile &file)
      : file(file), graph(*file.model->mutable_graph()) {
    for (auto &node : *graph.mutable_node()) {
      if (node.output_size())
        makers[node.output(0)] = &node;
      for (const std::string &input : node.input())
        ++readers[input];
    }
    for (const auto &output : graph.output())
      ++readers[output.name()];
    for (const auto &tensor : graph.initializer())
      present.insert(tensor.name());
  }

  std::vector<Replaced> run() {
    dropGradientMarks();
    std::vector<Replaced> back;
    for (Replaced &replaced : file.replaced)
      if (isPossible(replaced)) {
        restore(replaced);
        back.push_back(std::move(replaced));
      }
    dropUnread();
    return back;
  }

private:
  /// Removes operators of dlc that only affect gradients.
  void dropGradientMarks() {
    for (auto &node : *graph.mutable_node())
      for (std::string &input : *node.mutable_input())
        if (auto maker = makers.find(input);
            maker != makers.end() && file.added.count(input) &&
            maker->second->domain() == "ai.dlc") {
          --readers[input];
          input = maker->second->input(0);
          ++readers[input];
        }
  }

  /// The tensors have not changed since they replaced it.
  bool isPossible(const Replaced &replaced) const {
    if (present.count(replaced.name) || replaced.uses.empty())
      return false;
    for (const Replaced::Use &use : replaced.uses) {
      auto maker = makers.find(use.output);
      if (maker == makers.end() || use.slot >= maker->second->input_size() ||
          maker->second->input(use.slot) != use.now)
        return false;
    }
    for (const Replaced::Piece &piece : replaced.pieces)
      if (const Weight *weight = file.weights.find(piece.tensor);
          !weight || weight->shape != piece.shape)
        return false;
    auto lookUp = [&](const std::string &name) {
      const Weight *weight = file.weights.find(name);
      return weight && present.count(name) ? std::optional(*weight)
                                           : std::nullopt;
    };
    return covers(replaced, lookUp).ok();
  }

  void restore(const Replaced &replaced) {
    for (const Replaced::Use &use : replaced.uses) {
      onnx::NodeProto &node = *makers.at(use.output);
      --readers[node.input(use.slot)];
      ++readers[use.value];
      node.set_input(use.slot, use.value);
    }
    auto &tensor = *graph.add_initializer();
    tensor.set_name(replaced.name);
    tensor.set_data_type(replaced.type);
    setDims(tensor, replaced.shape);
    present.insert(replaced.name);
  }

  /// Removes added nodes and initializers that are no longer read.
  void dropUnread() {
    std::unordered_set<const onnx::NodeProto *> unread;
    std::vector<const onnx::NodeProto *> open;
    auto isUnread = [&](const onnx::NodeProto &node) {
      return node.output_size() == 1 && file.added.count(node.output(0)) &&
             !readers[node.output(0)];
    };
    for (const auto &node : graph.node())
      if (isUnread(node) && unread.insert(&node).second)
        open.push_back(&node);
    while (!open.empty()) {
      const onnx::NodeProto &node = *open.back();
      open.pop_back();
      for (const std::string &input : node.input())
        if (auto maker = makers.find(input);
            --readers[input] == 0 && maker != makers.end() &&
            isUnread(*maker->second) && unread.insert(maker->second).second)
          open.push_back(maker->second);
    }
    eraseWhere(*graph.mutable_node(),
               [&](auto &node) { return unread.count(&node); });
    eraseWhere(*graph.mutable_initializer(), [&](auto &tensor) {
      return file.added.count(tensor.name()) && !readers[tensor.name()];
    });
  }

  OnnxFile &file;
  onnx::GraphProto &graph;
  std::unordered_map<std::string, onnx::NodeProto *> makers;
  std::unordered_map<std::string, int> readers;
  std::unordered_set<std::string> present; // initializers
};

} // namespace

std::vector<Replaced> giveBack(OnnxFile &file) { return GiveBack(file).run(); }

} // namespace dlc::import
