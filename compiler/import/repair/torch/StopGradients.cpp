// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include <algorithm>
#include <deque>
#include <fmt/format.h>

namespace dlc::import {
namespace {

constexpr size_t kLooks = 256; // bound on the search for a value's inputs

/// "detach", "detach_3", "detach__1": results of aten.detach and detach_.
bool isDetached(const std::string &value) {
  const std::string op = "detach";
  return value.starts_with(op) &&
         value.find_first_not_of("_0123456789", op.size()) == std::string::npos;
}

class StopFinder : GraphRepair {
public:
  explicit StopFinder(Restoring &work) : GraphRepair(work) {
    for (const auto &input : edit.graph.input())
      if (input.type().tensor_type().elem_type() == kFloat)
        floats.insert(input.name());
  }

  int run() {
    for (auto &node : *edit.graph.mutable_node()) {
      const TorchCall &call = work.notes.call(node);
      if (call.target == "detach" || call.target == "detach_")
        addCall(node);
      else if (call.known)
        addNoted(node, call);
      addStraightThrough(node, call);
    }
    return int(work.stops.size());
  }

private:
  static constexpr int kFloat = onnx::TensorProto::FLOAT;

  /// detach() itself, an Identity unless the exporter optimizes.
  void addCall(onnx::NodeProto &node) {
    if (node.op_type() != "Identity" || node.input_size() != 1 ||
        node.output_size() != 1)
      return;
    const std::string from = node.input(0);
    if (!edit.weight(from))
      return addDetached({&node, 0});
    // Else the Identity could be taken for a merged parameter.
    for (const Use &use : edit.uses(node.output(0))) {
      work.through[{use.node, use.slot}] = node.output(0);
      edit.redirect(use, from);
      addDetached(use);
    }
    work.dead.insert(&node);
  }

  void addDetached(const Use &use) {
    if (add(use))
      work.decide(use.node->output(0), "detached",
                  fmt::format("reads {} as the source does, where it is "
                              "detached",
                              printable(use.node->input(use.slot))));
  }

  /// Values that the source detaches and that the file lacks.
  std::set<std::string> lostOf(const TorchCall &call) const {
    std::set<std::string> lost;
    for (const std::string &tensor : call.tensors)
      if (isDetached(tensor) && !edit.maker(tensor) && !edit.weight(tensor))
        lost.insert(tensor);
    return lost;
  }

  bool mayBeDetached(const std::string &value, const TorchCall &call) const {
    return !value.empty() && !isOfSameCall(value, call) &&
           (!edit.weight(value) || work.notes.isParameterTarget(value));
  }

  /// If the Identity was removed, notes of its readers still say "detach".
  void addNoted(onnx::NodeProto &node, const TorchCall &call) {
    const std::set<std::string> lost = lostOf(call);
    if (lost.empty())
      return;
    std::vector<int> open;
    const size_t known = work.stops.size();
    for (int slot = 0; slot < node.input_size(); ++slot) {
      const std::string &own = node.input(slot);
      if (!mayBeDetached(own, call))
        continue;
      auto source = work.notes.source(node, slot, own);
      if (source && lost.count(*source))
        addDetached({&node, slot});
      else if (!call.places.count(own) && !isMerged(node, own, source) &&
               (!source || work.notes.parameter(*source)))
        open.push_back(slot);
    }
    if (work.stops.size() != known || open.empty())
      return;
    if (open.size() == 1 && lost.size() == 1)
      return addDetached({&node, open[0]});
    decide(node, "detached",
           "reads a value that the source detaches, and its notes do not say "
           "as which input; gradients go through all");
  }

  /// The notes name a parameter that the node reads under another name, since
  /// the exporter merged it with that initializer.
  bool isMerged(const onnx::NodeProto &node, const std::string &own,
                const std::optional<std::string> &source) const {
    if (!source || !edit.weight(own))
      return false;
    const auto target = work.notes.parameter(*source);
    return target && !std::ranges::count(node.input(), *target);
  }

  /// A call of the source may be lowered to several nodes.
  bool isOfSameCall(const std::string &value, const TorchCall &call) const {
    const auto *maker = edit.maker(value);
    return maker && work.notes.call(*maker).known &&
           work.notes.call(*maker).value == call.value;
  }

  /// x + (q - x) equals q, so it is only written if the difference is detached.
  void addStraightThrough(onnx::NodeProto &node, const TorchCall &call) {
    const bool adds = isPlain(node, "Add");
    if (!adds && !isPlain(node, "Sub"))
      return;
    for (int slot = adds ? 0 : 1; slot < 2; ++slot) {
      const std::string &x = node.input(1 - slot);
      const auto *maker = edit.maker(node.input(slot));
      if (!maker || !isPlain(*maker, "Sub") ||
          maker->input(adds ? 1 : 0) != x || maker->input(adds ? 0 : 1) == x)
        continue;
      const bool isNoted = call.places.count(node.input(slot)) > 0;
      if (isNoted || !isFloating(x) || !add({&node, slot}))
        continue;
      decide(node, "straight through",
             fmt::format("is x + (q - x) of x = {}; q - x gets no gradient, as "
                         "where it is detached",
                         printable(x)));
    }
  }

  static bool isPlain(const onnx::NodeProto &node, const char *op) {
    return node.op_type() == op && node.domain().empty() &&
           node.input_size() == 2;
  }

  /// Computed from floats, not from shapes or indices.
  bool isFloating(const std::string &value) const {
    static const std::set<std::string> toIntegers = {"Shape", "Size", "ArgMax",
                                                     "ArgMin", "NonZero"};
    std::deque<std::string> left{value};
    std::set<std::string> seen{value};
    while (!left.empty() && seen.size() < kLooks) {
      const std::string name = left.front();
      left.pop_front();
      const Weight *weight = edit.weight(name);
      if (floats.count(name) || (weight && isFloat(weight->dtype)))
        return true;
      const auto *maker = edit.maker(name);
      if (!maker || toIntegers.count(maker->op_type()))
        continue;
      for (const std::string &input : maker->input())
        if (seen.insert(input).second)
          left.push_back(input);
    }
    return false;
  }

  void decide(const onnx::NodeProto &node, const char *kind,
              const std::string &text) {
    work.decide(node.output(0), kind, text, true);
    work.file.decisions.back().named = node.name();
  }

  bool add(const Use &use) {
    if (!work.detached.insert({use.node, use.slot}).second)
      return false;
    work.stops.push_back(use);
    return true;
  }

  std::set<std::string> floats; // inputs
};

} // namespace

int findStops(Restoring &work) { return StopFinder(work).run(); }

void stopGradients(Restoring &work) {
  std::map<std::string, std::string> stopped;
  for (const Use &use : work.stops) {
    const std::string value = use.node->input(use.slot);
    auto [it, first] = stopped.emplace(value, "");
    if (first)
      it->second =
          work.edit.add("ai.dlc.StopGradient", {value}, value + "/stopped");
    work.edit.redirect(use, it->second);
  }
}

} // namespace dlc::import
