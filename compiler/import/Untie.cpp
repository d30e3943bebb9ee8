#include "compiler/import/Untie.h"
#include "onnx-ml.pb.h"
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace dlc::import {
namespace {

/// All bytes repeat with the period of one element.
bool isSplat(const onnx::TensorProto &tensor) {
  int64_t count = 1;
  for (int64_t dim : tensor.dims())
    if (dim <= 0 || __builtin_mul_overflow(count, dim, &count))
      return false;
  std::string_view raw = tensor.raw_data();
  if (tensor.data_type() != onnx::TensorProto::FLOAT)
    return false;
  if (tensor.float_data_size())
    return std::set<float>(tensor.float_data().begin(),
                           tensor.float_data().end())
               .size() == 1;
  return raw.size() == size_t(count) * 4 &&
         raw.substr(4) == raw.substr(0, raw.size() - 4);
}

/// Inputs of `node` that hold one value per channel and belong to the node.
bool isOwnVector(const onnx::NodeProto &node, int input) {
  const std::string &op = node.op_type();
  if (op == "BatchNormalization")
    return input >= 1 && input <= 4;
  if (op == "LayerNormalization" || op == "InstanceNormalization" ||
      op == "GroupNormalization")
    return input == 1 || input == 2;
  if (op == "RMSNormalization")
    return input == 1;
  return (op == "Conv" || op == "Gemm") && input == 2;
}

class Untier {
public:
  explicit Untier(onnx::GraphProto &graph) : graph(graph) {
    for (const auto &tensor : graph.initializer())
      if (isSplat(tensor))
        splats[tensor.name()] = tensor;
    for (const auto &tensor : graph.initializer())
      names.insert(tensor.name());
    for (const auto &value : graph.input())
      names.insert(value.name());
    for (const auto &node : graph.node())
      names.insert(node.output().begin(), node.output().end());
  }

  int run() {
    replaceIdentities();
    for (auto &node : *graph.mutable_node())
      for (int i = 0; i < node.input_size(); ++i)
        if (isOwnVector(node, i) && splats.count(node.input(i)) &&
            !owned.insert(node.input(i)).second)
          node.set_input(i, copy(node.input(i), unusedName(node, i)));
    return copies;
  }

private:
  void replaceIdentities() {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
    for (auto &node : *graph.mutable_node()) {
      bool identity = node.op_type() == "Identity" && node.domain().empty() &&
                      node.input_size() == 1 && node.output_size() == 1;
      if (identity && splats.count(node.input(0)))
        copy(node.input(0), node.output(0));
      else
        kept.Add()->Swap(&node);
    }
    graph.mutable_node()->Swap(&kept);
  }

  std::string copy(const std::string &from, const std::string &to) {
    onnx::TensorProto tensor = splats.at(from);
    tensor.set_name(to);
    *graph.add_initializer() = tensor;
    splats[to] = tensor;
    names.insert(to);
    ++copies;
    return to;
  }

  std::string unusedName(const onnx::NodeProto &node, int input) const {
    std::string base = node.name().empty() && node.output_size()
                           ? node.output(0)
                           : node.name();
    std::string name = fmt::format("{}/input{}", base, input);
    while (names.count(name))
      name += "'";
    return name;
  }

  onnx::GraphProto &graph;
  std::unordered_map<std::string, onnx::TensorProto> splats;
  std::unordered_set<std::string> names, owned;
  int copies = 0;
};

} // namespace

int untieInitializers(onnx::ModelProto &model) {
  return Untier(*model.mutable_graph()).run();
}

} // namespace dlc::import
