// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/repair/torch/FoldedOps.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace dlc::import {
namespace {

/// Per-channel vectors that belong to the node.
bool isOwnVector(const onnx::NodeProto &node, int input) {
  static const InputBits own = {
      {"Add", ~0U},
      {"BatchNormalization", 0b11110},
      {"Conv", 0b100},
      {"ConvTranspose", 0b100},
      {"Div", ~0U},
      {"Gemm", 0b100},
      {"GroupNormalization", 0b110},
      {"InstanceNormalization", 0b110},
      {"LayerNormalization", 0b110},
      {"Mul", ~0U},
      {"PRelu", 0b10},
      {"RMSNormalization", 0b10},
      {"Sub", ~0U},
  };
  return node.domain().empty() ? hasInput(own, node, input)
                               : isWeightOperand(node, input);
}

} // namespace

std::string withoutCount(const std::string &path) {
  size_t digits = path.find_last_not_of("0123456789");
  bool counted = digits != std::string::npos && digits + 1 < path.size() &&
                 path[digits] == '_';
  return counted ? path.substr(0, digits) : path;
}

namespace {

class Untier : GraphRepair {
public:
  using GraphRepair::GraphRepair;

  Status run() {
    if (hasUnnamed())
      scopes.emplace(work);
    DLC_TRY(replaceIdentities());
    for (const std::string &name : std::vector(edit.initializers())) {
      const Weight *weight = edit.weight(name);
      if (weight && isFloat(weight->dtype) && !edit.isFixed(name) &&
          !work.file.roles.count(name))
        DLC_TRY(part(name, *weight));
    }
    return {};
  }

private:
  /// There are tensors that scopes may name.
  bool hasUnnamed() const {
    return std::ranges::any_of(
               edit.initializers(),
               [&](auto &name) { return isMadeUp(work.notes, name); }) ||
           std::ranges::any_of(edit.graph.node(), [](auto &node) {
             return isRewritten(node, kFoldedNorm);
           });
  }

  struct Group {
    Origin origin;
    std::vector<Use> uses;
  };

  /// The older exporter connects readers to the merged tensor by an Identity
  /// with the original tensor's name.
  Status replaceIdentities() {
    for (auto &node : *edit.graph.mutable_node()) {
      bool identity = node.op_type() == "Identity" && node.domain().empty() &&
                      node.input_size() == 1 && node.output_size() == 1;
      const std::string from = identity ? node.input(0) : "";
      const Weight *weight = identity ? edit.weight(from) : nullptr;
      if (!weight || edit.isFixed(node.output(0)))
        continue;
      // Equal buffers are still different tensors; a clone() is no tensor.
      const bool isBuffer = work.notes.bufferTargets().count(from) > 0;
      if (isBuffer || work.notes.call(node).known ||
          (!isSplat(from, *weight) && !isParameter(from, node.output(0)))) {
        passThrough(node);
        continue;
      }
      DLC_TRY(copy(from, *weight, node.output(0)));
      edit.remove(node);
      work.decide(node.output(0), "parted",
                  fmt::format("from {}, which the exporter merged it with "
                              "because all values are equal",
                              from));
    }
    return {};
  }

  /// A tensor has one name in the source, so an Identity with a parameter's
  /// name is a different parameter with equal values.
  bool isParameter(const std::string &from, const std::string &to) {
    return isOfTorch(*work.file.model) && isFloat(edit.weight(from)->dtype) &&
           !isMadeUp(work.notes, from) && !isResult(to);
  }

  /// The value is computed by the source, and is no tensor of it. Notes that
  /// list the parameters know this of any operator's results.
  bool isResult(const std::string &value) const {
    return isMadeUp(work.notes, value) ||
           (work.notes.hasSignature() && !work.notes.isParameterTarget(value) &&
            !work.notes.bufferTargets().count(value));
  }

  /// Makes readers of an Identity with a generated name read its input.
  void passThrough(const onnx::NodeProto &node) {
    if (!isResult(node.output(0)))
      return;
    const auto value = work.notes.source(node, 0, node.input(0));
    for (const Use &use : edit.uses(node.output(0))) {
      work.through[{use.node, use.slot}] = node.output(0);
      if (value)
        moved[{use.node, use.slot}] = *value;
      edit.redirect(use, node.input(0));
    }
    work.dead.insert(&node);
  }

  bool isSplat(const std::string &name, const Weight &weight) {
    auto [it, first] = splats.try_emplace(name, false);
    if (first)
      it->second = isFloat(weight.dtype) && import::isSplat(weight);
    return it->second;
  }

  Status copy(const std::string &from, const Weight weight,
              const std::string &to) {
    DLC_TRY(work.file.budget.keep(
        weight.bytes, fmt::format("parting '{}' from '{}', which the exporter "
                                  "merged it with,",
                                  to, from)));
    edit.addInitializer(to, weight);
    return {};
  }

  /// Groups the uses of `name` by tensor of the source; the group that keeps
  /// the name comes first.
  Status part(const std::string &name, const Weight &weight) {
    std::map<std::string, Group> groups;
    std::vector<std::string> order;
    bool splat = weight.elements() > 1 && isSplat(name, weight);
    for (const Use &use : edit.uses(name)) {
      if (edit.isNew(*use.node) || work.dead.count(use.node))
        continue; // a repair added it, or its result is unused
      auto [key, origin] = identify(name, use, weight, splat);
      auto [it, first] = groups.try_emplace(key);
      if (first)
        order.push_back(key);
      Group &group = it->second;
      group.uses.push_back(use);
      if (!origin.target.empty() || origin.scoped)
        group.origin = origin;
      group.origin.values.insert(origin.values.begin(), origin.values.end());
      group.origin.scopes.insert(origin.scopes.begin(), origin.scopes.end());
      group.origin.filledIn |= origin.filledIn;
    }
    joinCalls(groups, order);
    const auto own = joinOwn(name, groups, order);
    size_t first = 0;
    for (size_t i = 0; i < order.size(); ++i)
      if (groups[order[i]].origin.target == name ||
          order[i] == "value " + name || (own && order[i] == *own))
        first = i;
    for (size_t i = 0; i < order.size(); ++i) {
      Group &group = groups[order[i]];
      if (i == first)
        settle(name, name, group);
      else
        DLC_TRY(split(name, weight, group));
    }
    return {};
  }

  /// A second call of a module reads the same tensors as the first.
  static void joinCalls(std::map<std::string, Group> &groups,
                        std::vector<std::string> &order) {
    std::erase_if(order, [&](const std::string &key) {
      const Group &group = groups[key];
      if (!group.origin.scoped)
        return false;
      const std::string &target = group.origin.scoped->target,
                        &module = parentOf(target),
                        first = "scope " + withoutCount(module) +
                                target.substr(module.size());
      auto called = groups.find(first);
      if (first == key || called == groups.end())
        return false;
      auto &uses = called->second.uses;
      uses.insert(uses.end(), group.uses.begin(), group.uses.end());
      return true;
    });
  }

  /// If the module that `name` belongs to reads it, so do the readers of
  /// unknown modules. Returns the key of that module.
  std::optional<std::string> joinOwn(const std::string &name,
                                     std::map<std::string, Group> &groups,
                                     std::vector<std::string> &order) const {
    const std::string own = "module " + parentOf(name);
    if (isMadeUp(work.notes, name) || !groups.count(own))
      return std::nullopt;
    if (std::erase(order, "")) {
      auto &uses = groups[own].uses;
      std::ranges::copy(groups[""].uses, std::back_inserter(uses));
    }
    return own;
  }

  /// Records the origin of `part`, which is split off from `name` or is `name`.
  void settle(const std::string &part, const std::string &name, Group &group) {
    const Origin &origin = group.origin;
    if (origin.filledIn) {
      work.file.roles[part] = Role::Constant;
      work.decide(part, "constant",
                  "the source's norm has none; the exporter "
                  "filled it in");
      return;
    }
    if (part != name && origin.target.empty() && origin.values.empty() &&
        work.notes.hasSignature() && kCreators.count(operatorOf(name)))
      work.file.roles[part] = Role::Constant;
    work.origins[part] = std::move(group.origin);
  }

  Status split(const std::string &name, const Weight &weight, Group &group) {
    const onnx::NodeProto &node = *group.uses[0].node;
    const std::string base = nodeLabel(node);
    std::string wanted = fmt::format("{}/input{}", base, group.uses[0].slot);
    if (!group.origin.target.empty() &&
        !isStoredTransposed(work.notes, group.uses[0], weight) &&
        !isStoredPerChannel(work.notes, group.uses[0], weight))
      wanted = group.origin.target;
    else if (!group.origin.values.empty())
      wanted = *group.origin.values.begin();
    std::string part = edit.unusedName(wanted);
    DLC_TRY(copy(name, weight, part));
    for (const Use &use : group.uses)
      edit.redirect(use, part);
    work.decide(part, "parted",
                fmt::format("from {}, which the exporter merged it with "
                            "because their values are equal; {} '{}' reads it",
                            name, node.op_type(), base));
    if (auto known = work.sources.find(name); known != work.sources.end() &&
                                              known->second.isPart &&
                                              group.origin.target.empty()) {
      work.sources[part] = known->second;
      work.decide(part, "apart",
                  fmt::format("a part of {} in the source, like {}, which has "
                              "the same numbers",
                              *known->second.parameters.begin(), name),
                  true);
    }
    settle(part, name, group);
    work.file.partedFrom[part] = name;
    return {};
  }

  /// A key that distinguishes tensors of the source, and the known origin.
  std::pair<std::string, Origin> identify(const std::string &name,
                                          const Use &use, const Weight &weight,
                                          bool splat) {
    Origin origin;
    auto module = moduleOf(work.notes, *use.node);
    if (module)
      origin.scopes.insert(*module);
    auto value = work.notes.source(*use.node, use.slot, name);
    if (auto from = moved.find({use.node, use.slot}); from != moved.end())
      value = from->second;
    const auto parameter = value ? work.notes.parameter(*value) : std::nullopt;
    auto isTarget = [&](const std::string &target, bool isBuffer) {
      origin.target = target;
      origin.buffer = isBuffer;
      return std::pair("target " + target, origin);
    };
    if (!parameter && isStatistic(name, use))
      return isTarget(name, true);
    if (work.detached.count({use.node, use.slot}) &&
        !isMadeUp(work.notes, name))
      return isTarget(name, work.notes.bufferTargets().count(name) > 0);
    if (parameter)
      return isTarget(*parameter, work.notes.isBuffer(*value));
    if (value) {
      origin.values.insert(*value);
      if (isApart(name, *value, weight))
        return {"value " + *value, origin};
      return {keyOfFolded(*value, origin, splat), origin};
    }
    if (work.notes.isFilledIn(*use.node, use.slot) && isSplat(name, weight)) {
      origin.filledIn = true;
      return {"filled in", origin};
    }
    if (auto scoped = scopes ? scopes->find(name, use, weight) : std::nullopt) {
      origin.scoped = scoped;
      return {"scope " + scoped->target, origin};
    }
    const bool isOwn = splat && isOwnVector(*use.node, use.slot);
    return {isOwn ? keyOfModule(module, parentOf(name)) : "", origin};
  }

  /// Key of the module of a call, which may own the tensor.
  std::string keyOfModule(const std::optional<std::string> &module,
                          const std::string &own) {
    if (!module)
      return fmt::format("use {}", uses++);
    return "module " + (withoutCount(*module) == own ? own : *module);
  }

  /// A module's statistic: a second call reads it under the name of the first
  /// call's update.
  bool isStatistic(const std::string &name, const Use &use) const {
    return use.node->op_type() == "BatchNormalization" && use.slot >= 3 &&
           work.notes.bufferTargets().count(name);
  }

  /// Parts of one parameter that are scalars or have equal elements are usually
  /// different parts of a parameter that was initialised so.
  bool isApart(const std::string &name, const std::string &value,
               const Weight &weight) {
    auto known = work.sources.find(name);
    return known != work.sources.end() && known->second.isPart &&
           !known->second.computes && operatorOf(value) == operatorOf(name) &&
           (weight.elements() == 1 || isSplat(name, weight));
  }

  /// Folded values of different modules are distinct if each module may own a
  /// parameter; within a module if it has several parameters.
  std::string keyOfFolded(const std::string &value, const Origin &origin,
                          bool splat) {
    if (auto known = keys.find(value); known != keys.end())
      return known->second;
    std::string key;
    work.spend(work.unnamed.size());
    if (!origin.scopes.empty() && !work.candidates(origin).empty()) {
      const std::string &scope = *origin.scopes.begin();
      auto own = std::ranges::count(work.unnamed, scope, parentOf);
      key = splat && own > 1 ? "value " + value : "module " + scope;
    }
    return keys[value] = key;
  }

  std::optional<ScopeNames> scopes;
  std::unordered_map<std::string, std::string> keys; // of folded values
  std::unordered_map<std::string, bool> splats;
  /// What the Identity that an input read its value through reads.
  std::map<std::pair<const onnx::NodeProto *, int>, std::string> moved;
  size_t uses = 0;
};

} // namespace

std::optional<std::string> moduleOf(const TorchNotes &notes,
                                    const onnx::NodeProto &node) {
  if (const TorchCall &call = notes.call(node); call.known)
    return call.scope;
  const std::string &name = node.name();
  if (!name.starts_with('/'))
    return std::nullopt;
  std::string module, last;
  size_t begin = 1;
  for (size_t end; (end = name.find('/', begin)) != std::string::npos;
       begin = end + 1) {
    std::string part = name.substr(begin, end - begin);
    if (!last.empty() && part.starts_with(last + ".")) // an item of a list
      module.resize(module.size() - last.size());
    else if (!module.empty())
      module += '.';
    module += part;
    last = part;
  }
  return module;
}

Status untieInitializers(Restoring &work) { return Untier(work).run(); }

/// The bias of the source that `node` lost. If a batch norm was folded into the
/// node, the note is the norm's; then the weight's name is used.
static std::optional<std::string> biasOf(const Restoring &work,
                                         const onnx::NodeProto &node) {
  const auto value = work.notes.source(node, 2, "");
  if (value)
    return work.notes.isBuffer(*value) ? std::nullopt
                                       : work.notes.parameter(*value);
  const std::string &weight = node.input(1);
  const std::string bias = parentOf(weight) + ".bias";
  const bool isKnown =
      isRewritten(node, kFoldedNorm) && weight.ends_with(".weight") &&
      work.notes.isParameterTarget(weight) && work.unnamed.count(bias);
  return isKnown ? std::optional(bias) : std::nullopt;
}

static bool lostItsBias(const onnx::NodeProto &node) {
  return node.input_size() > 1 && inputOf(node, 2).empty() &&
         isRewritten(node, "RemoveOptionalBias");
}

void restoreBiases(Restoring &work) {
  GraphEdit &edit = work.edit;
  constexpr int64_t kMost = 1 << 24;
  for (int i = 0, count = edit.graph.node_size(); i < count; ++i) {
    auto &node = *edit.graph.mutable_node(i);
    if (!lostItsBias(node))
      continue;
    const auto target = biasOf(work, node);
    const Weight *weight = edit.weight(node.input(1));
    const int64_t elements = weight ? channelsOf(node, weight->shape) : 0;
    if (!target || elements < 1 || elements > kMost)
      continue;
    if (const Weight *known = edit.weight(*target)) {
      if (!isZero(known->view()) || known->dtype != weight->dtype ||
          known->shape != std::vector<int64_t>{elements})
        continue;
    } else {
      size_t bytes = size_t(elements) * sizeOf(weight->dtype);
      if (!isFloat(weight->dtype) || edit.unusedName(*target) != *target)
        continue;
      work.problem = work.file.budget.keep(
          bytes, fmt::format("the dropped bias '{}'", *target));
      if (!work.problem.ok())
        return;
      edit.ownInitializer(*target, weight->dtype, {elements},
                          std::string(bytes, '\0'));
      work.decide(*target, "restored",
                  fmt::format("as zeros: the exporter took the bias from {} "
                              "'{}'",
                              node.op_type(), node.name()));
    }
    edit.attach(node, 2, *target);
    work.settle(*target);
  }
}

} // namespace dlc::import
