// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include "runtime/base/files/Safetensors.h"
#include "runtime/plan/StateNames.h"
#include <algorithm>
#include <fmt/ranges.h>

namespace dlc::import {
namespace {

class Namer : GraphRepair {
public:
  Namer(Restoring &work, const std::string &path,
        const std::map<std::string, Weight> &given)
      : GraphRepair(work), path(path), given(given) {}

  Status run() {
    std::unordered_set<size_t> sizes;
    for (const auto &[name, weight] : given)
      if (canBeCopied(weight))
        sizes.insert(weight.bytes);
    for (const std::string &name : edit.initializers())
      if (const Weight *weight = edit.weight(name);
          weight && canBeCopied(*weight) && !edit.isFixed(name) &&
          sizes.count(weight->bytes) && !edit.uses(name).empty())
        groups[contentHash(*weight)].tensors.push_back(name);
    for (const auto &[name, weight] : given)
      if (canBeCopied(weight))
        offer(name, weight);
      else if (!edit.weight(name))
        absent.push_back(name);
    for (auto &[hash, group] : groups)
      settle(group);
    nameRows();
    return report();
  }

private:
  struct Group {
    std::vector<std::string> tensors; // in the model
    std::vector<std::string> names;   // in the file, in order
  };

  void offer(const std::string &name, const Weight &weight) {
    auto group = groups.find(contentHash(weight));
    if (group == groups.end() || group->second.tensors.empty())
      absent.push_back(name);
    else
      group->second.names.push_back(name);
  }

  /// Matches tensors and names with equal contents in any order.
  void settle(Group &group) {
    if (group.names.empty())
      return;
    const std::string &first = group.names[0];
    const Weight &source = given.at(first);
    const bool areSame = std::ranges::all_of(group.names, [&](auto &name) {
      return areEqual(source, given.at(name));
    });
    const bool areKnown = std::ranges::all_of(group.names, [&](auto &name) {
      return std::ranges::count(group.tensors, name) > 0;
    });
    const bool isTie = group.names.size() == 1 || group.tensors.size() == 1;
    if (areSame && areKnown && group.names.size() == group.tensors.size()) {
      for (const std::string &name : group.names)
        turn(name, given.at(name));
      named += group.names.size();
    } else if (areSame && isTie) {
      name(group, source);
    } else {
      std::ranges::copy(group.tensors, std::back_inserter(ambiguous));
    }
  }

  /// Converts a tensor to the file's layout.
  void turn(const std::string &name, const Weight &source) {
    auto how = arrangementOf(source, *edit.weight(name));
    if (how && how->kind == Arrangement::Same)
      return;
    if (!how || how->kind != Arrangement::Transpose)
      return otherwise.push_back(name);
    const auto uses = edit.uses(name);
    edit.replaceInitializer(name, source.shape, std::string(source.view()));
    const std::string value = arranged(work, name, *how, name);
    for (const Use &use : uses)
      edit.redirect(use, value);
    work.decide(name, "unfolded",
                fmt::format("the file stores it transposed, unlike {}", path));
  }

  /// Handles a group with one name or one tensor.
  void name(const Group &group, const Weight &source) {
    const std::string &target = group.names[0];
    for (size_t i = 1; i < group.names.size(); ++i)
      work.file.aliases[group.names[i]] = target;
    for (const std::string &tensor : group.tensors) {
      if (tensor == target) {
        turn(tensor, source);
        ++named;
        continue;
      }
      auto how = arrangementOf(source, *edit.weight(tensor));
      if (!how || !place(target, source)) {
        ambiguous.push_back(tensor);
        continue;
      }
      becomes(work, tensor, target, *how);
      work.decide(
          target, "named",
          fmt::format(
              "by its values in {}; the file has it as {}{}", path, tensor,
              how->kind == Arrangement::Transpose ? ", transposed" : ""));
      ++named;
    }
  }

  /// Names rows of a table that an exporter cut, if the file has the whole
  /// table, which then replaces them.
  void nameRows() {
    std::vector<std::string> cut;
    CopyFinder finder;
    for (const std::string &name : edit.initializers())
      if (const Weight *weight = edit.weight(name);
          weight && !edit.isFixed(name) && isMadeUp(work.notes, name) &&
          !edit.uses(name).empty()) {
        cut.push_back(name);
        finder.expect(*weight, true);
      }
    for (size_t i = 0; !cut.empty() && i < absent.size(); ++i)
      finder.add(absent[i], given.at(absent[i]));
    for (const std::string &name : cut) {
      auto found = finder.find(*edit.weight(name));
      if (!found || found->how.kind != Arrangement::Rows)
        continue;
      const Weight &source = given.at(found->name);
      if (!place(found->name, source))
        continue;
      work.decide(
          found->name, "named",
          fmt::format("by its rows in {}; the file has {} of them as {}", path,
                      found->how.rows.size(), name));
      becomes(work, name, found->name, found->how);
      std::erase(absent, found->name);
      ++named;
    }
  }

  /// The model has a tensor of that name with the file's contents.
  bool place(const std::string &target, const Weight &source) {
    if (const Weight *known = edit.weight(target))
      return areEqual(source, *known);
    if (edit.unusedName(target) != target)
      return false;
    edit.ownInitializer(target, source.dtype, source.shape,
                        std::string(source.view()));
    work.settle(target);
    return true;
  }

  Status report() const {
    if (!named)
      return badModel("--names={}: no tensor of the model has the values of "
                      "one of its {} tensors; expected the weights that the "
                      "model was exported with",
                      path, given.size());
    work.file.remarks.push_back({fmt::format(
        "names of {}: {} given by value{}{}{}", path, named,
        listedBelow("not found in the model (it may have them in another form, "
                    "or they are too few or all equal to be told by value)",
                    absent),
        listedBelow("left alone, as several have the same values", ambiguous),
        listedBelow("left in the model's shape, which is another",
                    otherwise))});
    return {};
  }

  const std::string &path;
  const std::map<std::string, Weight> &given;
  std::map<uint64_t, Group> groups;
  std::vector<std::string> absent, ambiguous, otherwise;
  size_t named = 0;
};

} // namespace

Status nameByValue(Restoring &work, const std::string &path) {
  if (!path.ends_with(".safetensors"))
    return usageError("--names: expected a .safetensors file, found '{}'",
                      path);
  DLC_ASSIGN(SafetensorsFile opened, SafetensorsFile::open(path));
  auto file = std::make_shared<SafetensorsFile>(std::move(opened));
  std::map<std::string, Weight> given;
  for (const NamedTensor &t : file->tensors())
    if (isFloat(t.dtype))
      given[plan::modelName(t.name)] = {t.dtype, t.shape, t.data, t.bytes};
  work.file.weights.keep(file);
  return Namer(work, path, given).run();
}

} // namespace dlc::import
