// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/NodeView.h"
#include "compiler/import/repair/options/OptionRepairs.h"
#include "compiler/import/tensor/ShapeMath.h"
#include "onnx-ml.pb.h"
#include <fmt/ranges.h>
#include <set>

namespace dlc::import {
namespace {

using onnx::NodeProto;

class HeadFinder {
public:
  HeadFinder(OnnxFile &file, int64_t classes)
      : file(file), graph(*file.model->mutable_graph()), classes(classes) {
    for (const auto *node : file.nodes)
      flow.add(*node);
  }

  Result<std::vector<std::string>> run() {
    if (graph.output_size() == 0)
      return badModel("--replace-head: the model has no output");
    DLC_TRY(walk(graph.output(0).name()));
    std::vector<std::string> names;
    for (const Part &part : found) {
      DLC_TRY(resize(part.name, part.dim));
      names.push_back(part.name);
    }
    for (auto &output : *graph.mutable_output())
      resizeOutput(output);
    graph.clear_value_info();
    return names;
  }

private:
  /// A tensor of the head, and its class dimension.
  struct Part {
    std::string name;
    int dim;
  };

  static bool passesOn(const std::string &op) {
    static const std::set<std::string> ops = {
        "Softmax",    "LogSoftmax",  "Identity",
        "Reshape",    "Flatten",     "Cast",
        "Squeeze",    "Dropout",     "Unsqueeze",
        "Sigmoid",    "Relu",        "Resize",
        "ReduceMean", "AveragePool", "GlobalAveragePool"};
    return ops.count(op) || op == "SoftmaxCrossEntropyLoss";
  }

  /// Follows producers from an output to the layer, or to all layers of a sum.
  Status walk(std::string value) {
    while (on.insert(value).second) {
      const NodeProto *node = find(value);
      if (!node)
        return badModel("--replace-head: output '{}' comes from no layer, "
                        "expected a Gemm, MatMul or Conv before it",
                        graph.output(0).name());
      const std::string &op = node->op_type();
      if (op == "Gemm")
        return takeLayer(*node,
                         NodeView(*node, 0).integer("transB", 0) ? 0 : 1);
      if (op == "MatMul")
        return takeWeight(*node, 1, 1);
      if (op == "Conv" && NodeView(*node, 0).integer("group", 1) == 1) {
        areChannels = true;
        return takeLayer(*node, 0);
      }
      if (op == "Add" && takeBias(*node, 0)) {
        value = inputOf(*node, 1);
      } else if (op == "Add" && takeBias(*node, 1)) {
        value = inputOf(*node, 0);
      } else if (op == "Add") {
        DLC_TRY(walk(inputOf(*node, 0)));
        value = inputOf(*node, 1);
      } else if (passesOn(op)) {
        value = inputOf(*node, 0);
      } else {
        return badModel("--replace-head: expected a Gemm, MatMul or ungrouped "
                        "Conv before output '{}', found {} '{}'",
                        graph.output(0).name(), op, node->name());
      }
    }
    return {};
  }
  /// The node of ai.onnx that computes `value`, or null.
  const NodeProto *find(const std::string &value) const {
    const auto *maker = flow.maker(value);
    return maker && isCore(*maker) ? maker : nullptr;
  }

  Status takeLayer(const NodeProto &node, int dim) {
    DLC_TRY(takeWeight(node, 1, dim));
    if (!inputOf(node, 2).empty() && !takeBias(node, 2))
      return badModel("--replace-head: the bias '{}' of '{}' is not a weight",
                      node.input(2), node.name());
    return {};
  }
  Status takeWeight(const NodeProto &node, int input, int dim) {
    std::string name = inputOf(node, input);
    while (const NodeProto *from = find(name)) {
      if (from->op_type() == "Transpose")
        dim = 1 - dim;
      else if (from->op_type() != "Identity")
        break;
      name = inputOf(*from, 0);
    }
    const Weight *weight = file.weights.find(name);
    const bool isConv = node.op_type() == "Conv";
    if (!weight ||
        (isConv ? weight->shape.size() < 3 : weight->shape.size() != 2))
      return badModel("--replace-head: expected a weight of {} in {} "
                      "'{}', found '{}'",
                      isConv ? "a convolution" : "two dimensions",
                      node.op_type(), node.name(), name);
    if (flow.readers(name).size() > 1)
      return badModel("--replace-head: weight '{}' of '{}' has another use in "
                      "the model and cannot change its shape",
                      name, node.name());
    found.insert(found.begin(), {name, dim});
    return {};
  }
  bool takeBias(const NodeProto &node, int input) {
    std::string name = inputOf(node, input);
    while (const NodeProto *from = find(name)) {
      if (from->op_type() != "Identity")
        return false;
      name = inputOf(*from, 0);
    }
    const Weight *bias = file.weights.find(name);
    if (!bias || bias->shape.empty() || bias->elements() != bias->shape.back())
      return false;
    found.push_back({name, int(bias->shape.size()) - 1});
    return true;
  }

  Status resize(const std::string &name, int dim) {
    const Weight old = *file.weights.find(name);
    if (!isFloat(old.dtype))
      return badModel("--replace-head: weight '{}' has type {}, expected a "
                      "float type",
                      name, nameOf(old.dtype));
    oldClasses = old.shape[size_t(dim)];
    std::vector<int64_t> shape = old.shape;
    shape[size_t(dim)] = classes;
    std::string what = fmt::format("--replace-head: the new '{}'", name);
    DLC_ASSIGN(auto elements, countElements(shape, what));
    const size_t bytes = size_t(elements) * sizeOf(old.dtype);
    DLC_TRY(file.budget.keep(bytes, what));
    for (auto &tensor : *graph.mutable_initializer())
      if (tensor.name() == name)
        tensor.set_dims(dim, classes);
    file.weights.own(name, old.dtype, shape, std::string(bytes, '\0'));
    return {};
  }
  /// Changes the number of classes of outputs that the layer computes.
  void resizeOutput(onnx::ValueInfoProto &output) {
    if (!on.count(output.name()) || !output.type().has_tensor_type())
      return;
    auto &shape = *output.mutable_type()->mutable_tensor_type();
    int rank = shape.shape().dim_size();
    const int dim = areChannels ? 1 : rank - 1;
    if (rank <= dim || dim < 0 ||
        shape.shape().dim(dim).dim_value() != oldClasses)
      return;
    shape.mutable_shape()->mutable_dim(dim)->set_dim_value(classes);
    if (areChannels && rank == 2)
      flatten(output.name());
  }
  /// [N, C, 1, 1] to [N, C]: a Reshape's shape may contain the old number.
  void flatten(const std::string &output) {
    for (auto &node : *graph.mutable_node())
      if (find(output) == &node && node.op_type() == "Reshape") {
        node.set_op_type("Flatten");
        node.mutable_input()->RemoveLast();
        node.clear_attribute();
      }
  }

  OnnxFile &file;
  onnx::GraphProto &graph;
  int64_t classes, oldClasses = 0;
  bool areChannels = false; // the classes: of a convolution
  ValueFlow flow;
  std::vector<Part> found;  // weight first
  std::set<std::string> on; // values between the layers and the output
};

} // namespace

Result<int> replaceHead(OnnxFile &file, int64_t classes,
                        std::vector<std::string> &head) {
  DLC_ASSIGN(head, HeadFinder(file, classes).run());
  file.remarks.push_back({fmt::format("new head: {} of {} classes",
                                      fmt::join(head, ", "), classes)});
  return int(head.size());
}

} // namespace dlc::import
