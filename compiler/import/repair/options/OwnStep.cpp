// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/options/OwnStep.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/file/Names.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/SchemaCheck.h"
#include "compiler/import/tensor/ExternalData.h"
#include "compiler/import/tensor/Floats.h"
#include "compiler/import/tensor/TensorData.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <unordered_map>
#include <unordered_set>

namespace dlc::import {
namespace {

constexpr const char *kDomain = "ai.onnx.preview.training";

/// Inputs for each tensor, and what it keeps.
int partsOf(const std::string &op) {
  return op == "Adam" ? 4 : op == "Adagrad" || op == "Momentum" ? 3 : 0;
}

bool startsAtZero(const Weight &weight) {
  const char *bytes = static_cast<const char *>(weight.data);
  return std::all_of(bytes, bytes + weight.bytes,
                     [](char byte) { return byte == 0; });
}

std::optional<double> numberOf(const Weight &weight) {
  if (weight.elements() != 1)
    return std::nullopt;
  if (isFloat(weight.dtype))
    return floatsOf(weight)[0];
  int64_t whole = 0;
  if (weight.dtype != DType::I64)
    return std::nullopt;
  std::memcpy(&whole, weight.data, sizeof whole);
  return double(whole);
}

class StepTaker {
public:
  explicit StepTaker(OnnxFile &file)
      : file(file), graph(*file.model->mutable_graph()) {}

  Result<OwnStep> run() {
    if (file.model->training_info_size() != 1)
      return badModel("the model has {} entries of training_info, expected one",
                      file.model->training_info_size());
    const onnx::TrainingInfoProto info = file.model->training_info(0);
    DLC_TRY(read(info));
    std::optional<OwnStep> step;
    for (const onnx::NodeProto *node : optimizers) {
      DLC_ASSIGN(OwnStep own, stepOf(*node));
      if (step && !(own == *step))
        return badModel("{} differs from the first in lr, loss or settings, "
                        "expected one training step for all tensors",
                        describe(*node));
      step = own;
    }
    if (!step)
      return badModel("the training algorithm has no Adagrad, Adam or Momentum "
                      "of {}",
                      kDomain);
    for (const auto &[name, value] : updates)
      if (!settled.count(name))
        return badModel("the update of '{}' by '{}' is not an optimizer's",
                        name, value);
    DLC_TRY(join(info.algorithm(), step->loss));
    setRoles();
    file.model->clear_training_info();
    return *step;
  }

private:
  Status read(const onnx::TrainingInfoProto &info) {
    if (info.initialization().node_size())
      file.remarks.push_back({"the initialization of the model's training_info "
                              "is not run: weights start as they are, or by "
                              "--init"});
    for (const auto &binding : info.update_binding())
      if (!updates.emplace(binding.key(), binding.value()).second)
        return badModel("'{}' is updated twice", binding.key());
    for (const auto &tensor : graph.initializer())
      trainable.insert(tensor.name());
    ExternalData external(file.path, file.budget);
    for (const auto &tensor : info.algorithm().initializer()) {
      DLC_TRY(addTensor(tensor, tensor.name(), external, own));
      if (file.weights.find(tensor.name()))
        return badModel("the initializer '{}' is in the model and in its "
                        "training algorithm",
                        tensor.name());
    }
    for (const auto &node : info.algorithm().node()) {
      for (const std::string &output : node.output())
        makers[output] = &node;
      if (node.domain() != kDomain || node.op_type() == "Gradient")
        continue;
      if (!partsOf(node.op_type()))
        return badModel("{} is not supported in a training algorithm",
                        describe(node));
      optimizers.push_back(&node);
    }
    return {};
  }

  const Weight *find(const std::string &name) const {
    const Weight *weight = own.find(name);
    return weight ? weight : file.weights.find(name);
  }

  //===--- the optimizer --------------------------------------------------===//

  Result<OwnStep> stepOf(const onnx::NodeProto &node) {
    const int parts = partsOf(node.op_type());
    const int count = (node.input_size() - 2) / parts;
    if (count < 1 || node.input_size() != 2 + count * parts ||
        node.output_size() != count * (parts - 1))
      return badModel("{} has {} inputs and {} outputs, expected 2 + {} and {} "
                      "for each tensor",
                      describe(node), node.input_size(), node.output_size(),
                      parts, parts - 1);
    DLC_ASSIGN(OwnStep step, settingsOf(node));
    DLC_TRY(checkCount(node));
    for (int i = 0; i < count; ++i) {
      DLC_ASSIGN(std::string loss,
                 lossOf(node, node.input(2 + i), node.input(2 + count + i)));
      if (!step.loss.empty() && step.loss != loss)
        return badModel("{} has gradients of '{}' and '{}', expected one loss",
                        describe(node), step.loss, loss);
      step.loss = loss;
      DLC_TRY(settle(node, node.input(2 + i), node.output(i)));
      trained.insert(node.input(2 + i));
      for (int k = 2; k < parts; ++k) {
        const std::string &kept = node.input(2 + k * count + i);
        const Weight *start = find(kept);
        if (!start || !startsAtZero(*start))
          return badModel("{}: '{}' does not start as zeros, as dlc's "
                          "optimizers do",
                          describe(node), kept);
        DLC_TRY(settle(node, kept, node.output((k - 1) * count + i)));
        trainable.erase(kept);
      }
    }
    return step;
  }

  /// Formulas that dlc's optimizers compute, too.
  Result<OwnStep> settingsOf(const onnx::NodeProto &node) {
    NodeView view(node, 1);
    const std::string &op = node.op_type(), rate = node.input(0);
    const Weight *weight = find(rate);
    auto lr = weight ? numberOf(*weight) : std::nullopt;
    if (!lr || updates.count(rate))
      return badModel("{}: the lr '{}' is not a constant", describe(node),
                      rate);
    trainable.erase(rate);
    OwnStep step;
    step.lr = *lr;
    step.weightDecay = view.number("norm_coefficient", 0);
    auto refuse = [&](const char *setting, double value, const char *why) {
      return badModel("{}: {} {} is not supported, {}", describe(node), setting,
                      value, why);
    };
    if (op == "Adagrad") {
      step.optimizer = "adagrad";
      step.epsilon = view.number("epsilon", 1e-6);
      if (double decay = view.number("decay_factor", 0); decay != 0)
        return refuse("decay_factor", decay, "expected 0 (--schedule)");
    } else if (op == "Adam") {
      step.optimizer = "adam_onnx";
      step.beta1 = view.number("alpha", 0.9);
      step.beta2 = view.number("beta", 0.999);
      step.epsilon = view.number("epsilon", 1e-6);
      if (double decay = view.number("norm_coefficient_post", 0); decay != 0)
        return refuse("norm_coefficient_post", decay, "expected 0");
    } else {
      step.optimizer = "sgd";
      step.momentum = view.number("alpha", 0);
      step.dampening = 1 - view.number("beta", 0);
      step.nesterov = view.text("mode", "") == "nesterov";
      if (step.dampening != 0 && (*step.momentum == 0 || step.nesterov))
        return refuse("beta", 1 - step.dampening,
                      "expected 1 without momentum, and in mode nesterov");
      if (*step.momentum == 0)
        step.nesterov = false;
    }
    DLC_TRY(view.problem());
    return step;
  }

  /// Counts steps from 0, by one.
  Status checkCount(const onnx::NodeProto &node) {
    const std::string &count = node.input(1);
    const Weight *start = find(count);
    if (!start || numberOf(*start) != 0.0)
      return badModel("{}: the count of steps '{}' does not start at 0",
                      describe(node), count);
    auto next = updates.find(count);
    auto maker =
        next == updates.end() ? makers.end() : makers.find(next->second);
    bool counts = maker != makers.end() && maker->second->op_type() == "Add" &&
                  maker->second->input_size() == 2;
    if (counts) {
      const auto &inputs = maker->second->input();
      const Weight *one = find(inputs[inputs[0] == count]);
      counts = (inputs[0] == count || inputs[1] == count) && one &&
               numberOf(*one) == 1.0;
    }
    if (!counts)
      return badModel("{}: the count of steps '{}' is not updated by adding 1",
                      describe(node), count);
    settled.insert(count);
    trainable.erase(count);
    return {};
  }

  Status settle(const onnx::NodeProto &node, const std::string &name,
                const std::string &value) {
    auto update = updates.find(name);
    if (update == updates.end() || update->second != value)
      return badModel("{}: '{}' is not updated by '{}'", describe(node), name,
                      value);
    if (!settled.insert(name).second)
      return badModel("'{}' is in two optimizers", name);
    return {};
  }

  /// What `gradient` is the derivative of, by `parameter`.
  Result<std::string> lossOf(const onnx::NodeProto &node,
                             const std::string &parameter,
                             const std::string &gradient) {
    if (!file.weights.find(parameter) || !trainable.count(parameter))
      return badModel("{}: '{}' is not an initializer of the model",
                      describe(node), parameter);
    auto maker = makers.find(gradient);
    if (maker == makers.end() || maker->second->domain() != kDomain ||
        maker->second->op_type() != "Gradient")
      return badModel("{}: '{}' is not the result of a Gradient; use "
                      "--clip-grad and --weight-decay to change gradients",
                      describe(node), gradient);
    const onnx::NodeProto &by = *maker->second;
    NodeView view(by, 1);
    std::vector<std::string> names;
    for (const char *list : {"xs", "zs"})
      if (const auto *found = view.find(list))
        names.insert(names.end(), found->strings().begin(),
                     found->strings().end());
    if (!std::equal(names.begin(), names.end(), by.input().begin(),
                    by.input().end()))
      return badModel("{} replaces the values of xs and zs", describe(by));
    const auto place =
        std::find(by.output().begin(), by.output().end(), gradient) -
        by.output().begin();
    if (size_t(place) >= names.size() || names[size_t(place)] != parameter)
      return badModel("{}: '{}' is not the gradient of '{}'", describe(node),
                      gradient, parameter);
    return view.text("y", "");
  }

  //===--- the loss -------------------------------------------------------===//

  /// Adds what it needs of the algorithm to the graph.
  Status join(const onnx::GraphProto &algorithm, const std::string &loss) {
    std::unordered_set<std::string> needed;
    std::vector<std::string> open{loss};
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      if (name.empty() || !needed.insert(name).second)
        continue;
      if (auto maker = makers.find(name); maker != makers.end())
        open.insert(open.end(), maker->second->input().begin(),
                    maker->second->input().end());
    }
    auto isNeeded = [&](const auto &names) {
      return std::any_of(names.begin(), names.end(),
                         [&](auto &name) { return needed.count(name) > 0; });
    };
    for (const auto &node : algorithm.node())
      if (isNeeded(node.output()))
        *graph.add_node() = node;
    for (const auto &input : algorithm.input())
      if (needed.count(input.name()) && !own.find(input.name()))
        *graph.add_input() = input;
    std::vector<std::string> joined;
    for (const auto &tensor : algorithm.initializer())
      if (needed.count(tensor.name())) {
        *graph.add_initializer() = tensor;
        joined.push_back(tensor.name());
      }
    const bool known =
        std::any_of(graph.output().begin(), graph.output().end(),
                    [&](const auto &output) { return output.name() == loss; });
    if (!known)
      graph.add_output()->set_name(loss);
    ExternalData external(file.path, file.budget);
    for (const std::string &name : joined)
      for (const auto &tensor : graph.initializer())
        if (tensor.name() == name)
          DLC_TRY(addTensor(tensor, name, external, file.weights));
    DLC_TRY(checkNameLengths(graph));
    DLC_TRY(checkNodes(graph, file.opset));
    DLC_ASSIGN(file.nodes, sortedNodes(graph));
    return {};
  }

  /// What no optimizer moves stays.
  void setRoles() {
    for (const std::string &name : trainable)
      if (isFloat(file.weights.find(name)->dtype))
        file.roles[name] = trained.count(name) ? Role::Param : Role::Constant;
    for (const std::string &name : trained)
      file.decisions.push_back(
          {name, "own", "moved by an optimizer of the model's training_info"});
  }

  OnnxFile &file;
  onnx::GraphProto &graph;
  WeightStore own; // initializers of the algorithm
  std::map<std::string, std::string> updates;
  std::unordered_map<std::string, const onnx::NodeProto *> makers;
  std::vector<const onnx::NodeProto *> optimizers;
  std::set<std::string> settled; // of updates
  std::set<std::string> trained, trainable;
};

} // namespace

Result<OwnStep> takeOwnStep(OnnxFile &file) { return StepTaker(file).run(); }

} // namespace dlc::import
