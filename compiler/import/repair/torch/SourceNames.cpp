// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/repair/torch/FoldedOps.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace dlc::import {

bool isStoredTransposed(const TorchNotes &notes, const Use &use,
                        const Weight &weight) {
  const std::string &op = use.node->op_type();
  return notes.call(*use.node).target == "linear" && use.slot == 1 &&
         weight.shape.size() == 2 && (op == "MatMul" || op == "Gemm") &&
         !NodeView(*use.node, 0).integer("transB", 0);
}

bool isStoredPerChannel(const TorchNotes &notes, const Use &use,
                        const Weight &weight) {
  const std::string &call = notes.call(*use.node).target;
  return (call == "group_norm" || call == "instance_norm") &&
         weight.shape.size() > 1;
}

namespace {

class Adopter : GraphRepair {
public:
  using GraphRepair::GraphRepair;

  void run() {
    for (const std::string &name : std::vector(edit.initializers())) {
      auto origin = work.origins.find(name);
      if (origin == work.origins.end() || origin->second.target.empty() ||
          origin->second.target == name || origin->second.buffer ||
          edit.isFixed(name) || !edit.weight(name) || edit.uses(name).empty())
        continue;
      adopt(name, origin->second.target, *edit.weight(name));
    }
    tieCopies();
    adoptScoped();
    noteNorms();
    noteSmoothing();
    nameTies();
  }

private:
  /// The file has one name of a weight that several modules share.
  void nameTies() {
    std::vector<std::string> lines;
    for (const auto &[second, name] : work.notes.secondNames())
      if (edit.weight(name) && !edit.weight(second)) {
        work.file.aliases[second] = name;
        lines.push_back(
            fmt::format("'{}' is '{}'", printable(second), printable(name)));
      }
    if (!lines.empty())
      work.file.remarks.push_back({fmt::format(
          "weights with two names in the source: {}; options know both, "
          "checkpoints and exports the latter",
          listed(lines, 3))});
  }

  void adopt(const std::string &name, const std::string &target,
             const Weight weight) {
    if (const Weight *known = edit.weight(target)) {
      auto how = arrangementOf(*known, weight);
      if (!how)
        return work.decide(name, "as it is",
                           fmt::format("is {} in the source, but differs from "
                                       "it in value",
                                       target),
                           true);
      becomes(work, name, target, *how);
      return work.decide(name, "tied",
                         "is the same parameter as " + target + text(*how));
    }
    if (edit.unusedName(target) != target)
      return;
    const Use use = edit.uses(name)[0];
    work.origins[target] = work.origins[name];
    if (isStoredTransposed(work.notes, use, weight))
      return adoptTransposed(name, target, weight);
    const bool flat = isStoredPerChannel(work.notes, use, weight);
    place(name, target, weight,
          flat ? std::vector<int64_t>{weight.elements()} : weight.shape);
    work.decide(target, "named",
                "after the source; the file has it as " + name);
  }

  void adoptTransposed(const std::string &name, const std::string &target,
                       const Weight weight) {
    edit.ownInitializer(target, weight.dtype,
                        {weight.shape[1], weight.shape[0]},
                        transposedBytes(weight, {1, 0}));
    becomes(work, name, target, {Arrangement::Transpose, {1, 0}, {}});
    work.decide(target, "unfolded",
                fmt::format("the exporter stored it transposed, as {}", name));
  }

  /// Replaces `name` by `target`, of the same elements in this shape.
  void place(const std::string &name, const std::string &target, Weight weight,
             const std::vector<int64_t> &shape) {
    const auto kind =
        weight.shape == shape ? Arrangement::Same : Arrangement::Reshape;
    weight.shape = shape;
    edit.addInitializer(target, weight);
    becomes(work, name, target, {kind, {}, {}});
  }

  /// Assigns names from scopes that only one tensor can have.
  void adoptScoped() {
    std::map<std::string, std::vector<std::string>> claims;
    for (const std::string &name : edit.initializers())
      if (auto origin = work.origins.find(name);
          origin != work.origins.end() && origin->second.scoped &&
          !edit.isFixed(name) && edit.weight(name) && !edit.uses(name).empty())
        claims[origin->second.scoped->target].push_back(name);
    for (const auto &[target, names] : claims) {
      const Weight &first = *edit.weight(names[0]);
      const bool one = std::ranges::all_of(names, [&](const auto &name) {
        return areEqual(first, *edit.weight(name));
      });
      if (one && !edit.weight(target) && edit.unusedName(target) == target)
        for (const std::string &name : names)
          adoptScoped(name, *work.origins[name].scoped);
    }
  }

  void adoptScoped(const std::string &name, const ScopedName scoped) {
    const std::string &target = scoped.target;
    const Weight weight = *edit.weight(name);
    work.origins[target].target = target;
    if (const Weight *known = edit.weight(target))
      return becomes(work, name, target, *arrangementOf(*known, weight));
    if (scoped.holdsNorm)
      work.file.foldedNorms.insert(target);
    if (scoped.transposed)
      return adoptTransposed(name, target, weight);
    place(name, target, weight,
          scoped.shape.empty() ? weight.shape : scoped.shape);
    work.decide(target, "named",
                fmt::format("after the module that reads it; the file has it "
                            "as {}{}",
                            name,
                            scoped.holdsNorm
                                ? ", with a batch norm folded into it"
                                : ""));
  }

  /// Records convolutions with a folded norm whose weights kept their names.
  void noteNorms() {
    for (const auto &node : edit.graph.node())
      if (isRewritten(node, kFoldedNorm))
        for (int i = 1; i < node.input_size(); ++i)
          if (edit.weight(node.input(i)))
            work.file.foldedNorms.insert(node.input(i));
  }

  /// ONNX's losses have no label smoothing, and the exporter drops it.
  void noteSmoothing() {
    for (const auto &node : edit.graph.node()) {
      const TorchCall &call = work.notes.call(node);
      if (call.target == "cross_entropy_loss" && call.args.size() > 5 &&
          operatorName(node) == "SoftmaxCrossEntropyLoss" &&
          call.args[5] != "0.0")
        work.decide(node.output(0), "smoothing",
                    "the source smooths its labels by " +
                        printable(call.args[5]),
                    true);
    }
  }

  static std::string text(const Arrangement &how) {
    switch (how.kind) {
    case Arrangement::Transpose:
      return ", transposed";
    case Arrangement::Reshape:
      return ", in another shape";
    case Arrangement::Rows:
      return fmt::format(", {} of its rows", how.rows.size());
    default:
      return "";
    }
  }

  /// Folding leaves copies of existing tensors: a tied head of an embedding, or
  /// rows of a table. Two tensors with module names are only tied if one is the
  /// transpose of the other and the file does not list its parameters.
  void tieCopies() {
    std::vector<std::string> copies, sources;
    CopyFinder finder;
    for (const std::string &name : edit.initializers()) {
      const Weight *weight = edit.weight(name);
      auto origin = work.origins.find(name);
      if (!weight || edit.isFixed(name) || origin == work.origins.end() ||
          !isFloat(weight->dtype) || origin->second.buffer ||
          edit.uses(name).empty())
        continue;
      bool madeUp = isMadeUp(work.notes, name);
      if (!madeUp)
        sources.push_back(name);
      if (madeUp || (!work.notes.hasSignature() && weight->shape.size() == 2)) {
        copies.push_back(name);
        finder.expect(*weight, madeUp);
      }
    }
    for (const std::string &name : sources)
      finder.add(name, *edit.weight(name));
    for (const std::string &name : copies)
      if (auto found = finder.find(*edit.weight(name)))
        tie(name, *found);
    tieLookups(copies);
  }

  /// A module that looks up the same missing table twice, such as for two
  /// corners of a box: equal rows are no coincidence.
  void tieLookups(const std::vector<std::string> &copies) {
    std::map<std::pair<uint64_t, std::set<std::string>>, std::string> firsts;
    for (const std::string &name : copies) {
      const Weight &weight = *edit.weight(name);
      const Origin &origin = work.origins[name];
      if (!origin.target.empty() || edit.uses(name).empty() ||
          !isLookedUp(name, origin) || !canBeCopied(weight))
        continue;
      auto [it, isFirst] =
          firsts.try_emplace({contentHash(weight), origin.scopes}, name);
      if (isFirst)
        continue;
      if (!areEqual(*edit.weight(it->second), weight))
        continue;
      becomes(work, name, it->second, {});
      work.decide(name, "tied",
                  "the same rows as " + it->second + ", of one table");
    }
  }

  static bool isLookedUp(const std::string &name, const Origin &origin) {
    auto looksUp = [](const std::string &value) {
      return kLookups.count(operatorOf(value)) > 0;
    };
    return looksUp(name) || std::ranges::any_of(origin.values, looksUp);
  }

  void tie(const std::string &name, const CopyFinder::Found &found) {
    if (name == found.name || (!isMadeUp(work.notes, name) &&
                               found.how.kind != Arrangement::Transpose))
      return;
    becomes(work, name, found.name, found.how);
    const Origin &origin = work.origins[name];
    if (origin.scoped)
      work.file.aliases[origin.scoped->target] = found.name;
    work.decide(name, "tied",
                "holds the values of " + found.name + text(found.how));
  }
};

} // namespace

void adoptParameters(Restoring &work) { Adopter(work).run(); }

} // namespace dlc::import
