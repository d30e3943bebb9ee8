// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/torch/Restoring.h"
#include "compiler/import/repair/torch/FoldedOps.h"
#include "onnx-ml.pb.h"
#include <algorithm>

namespace dlc::import {
namespace {

bool isNumber(const std::string &text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

bool isBelow(const std::string &name, const std::string &module) {
  return module.empty() || name.starts_with(module + ".");
}

/// Sets the roles in the notes. For tensors without a name there findRoles
/// decides.
void setRoles(Restoring &work) {
  for (const auto &[name, origin] : work.origins) {
    if (origin.target.empty())
      continue;
    work.file.roles[name] = origin.buffer ? Role::Constant : Role::Param;
  }
  // Parameters that no call names, such as ones that were split.
  for (const std::string &name : work.edit.initializers())
    if (work.notes.isParameterTarget(name))
      work.file.roles.try_emplace(name, Role::Param);
    else if (work.notes.bufferTargets().count(name))
      work.file.roles.try_emplace(name, Role::Constant);
}

/// Consecutive ascending numbers.
bool isRange(const std::vector<int64_t> &rows) {
  for (size_t i = 1; i < rows.size(); ++i)
    if (rows[i] != rows[0] + int64_t(i))
      return false;
  return true;
}

/// Records how the file's initializer is computed from `source`.
Replaced recordOf(Restoring &work, const std::string &name,
                  const std::string &source, const Arrangement &how) {
  GraphEdit &edit = work.edit;
  const Weight &held = *edit.weight(source);
  Replaced r{name,       edit.typeOf(name), edit.weight(name)->shape,
             held.shape, how.perm,          {},
             {}};
  if (how.kind != Arrangement::Rows) {
    r.pieces.push_back({source, 0, held.elements(), held.shape});
    return r;
  }
  r.from = r.shape;
  for (int64_t row : how.rows)
    r.pieces.push_back(
        {source, row * held.shape.back(), held.shape.back(), held.shape});
  return r;
}

} // namespace

Restoring::Restoring(OnnxFile &file)
    : file(file), edit(file), notes(file.model->graph()),
      unnamed(notes.unnamed()) {
  std::erase_if(unnamed, [&](const std::string &name) {
    return edit.weight(name) != nullptr;
  });
}

std::set<std::string>
Restoring::candidates(const Origin &origin,
                      const std::set<std::string> &among) {
  std::set<std::string> found;
  if (!spend(among.size() * origin.scopes.size()))
    return found;
  for (const std::string &parameter : among) {
    const std::string module = parentOf(parameter);
    for (const std::string &scope : origin.scopes)
      if (isBelow(parameter, scope) || scope == module ||
          isBelow(scope, module))
        found.insert(parameter);
  }
  return found;
}

std::set<std::string> Restoring::beside(const Origin &origin,
                                        const std::vector<int64_t> &shape) {
  std::set<std::string> found;
  for (const std::string &scope : origin.scopes) {
    const std::string start = scope + ".";
    for (auto it = origins.lower_bound(start);
         it != origins.end() && it->first.starts_with(start) && spend(1); ++it)
      if (const Weight *weight = edit.weight(it->first);
          weight && it->second.target == it->first && !it->second.buffer &&
          parentOf(it->first) == scope && weight->shape == shape)
        found.insert(it->first);
  }
  return found;
}

std::set<std::string>
Restoring::takeLayers(std::set<std::string> &names,
                      const std::set<std::string> &scopes) const {
  std::set<std::string> layers;
  for (auto it = names.begin(); it != names.end();) {
    const std::string weight = *it++, module = parentOf(weight),
                      bias = module + ".bias";
    if (!weight.ends_with(".weight") || scopes.count(module) ||
        !names.erase(bias))
      continue;
    names.erase(weight);
    if (!notes.bufferTargets().count(module + ".running_mean"))
      layers.insert({weight, bias});
  }
  return layers;
}

bool Restoring::isFused() const {
  return std::ranges::any_of(edit.graph.node(), [&](const auto &node) {
    return node.domain() == "com.microsoft" && !notes.call(node).known;
  });
}

bool Restoring::spend(size_t steps) {
  if (problem.ok())
    problem = file.budget.work(
        steps * 16, "finding the parameters behind what an exporter folded");
  return problem.ok();
}

void Restoring::close() {
  setRoles(*this);
  stopGradients(*this);
  edit.close();
}

std::string operatorOf(const std::string &value) {
  size_t mark = value.rfind('_');
  std::string op = mark != std::string::npos && isNumber(value.substr(mark + 1))
                       ? value.substr(0, mark)
                       : value;
  if (op.starts_with("split_split") || op.starts_with("getitem"))
    return "split";
  const bool isKnown = kCreators.count(op) || kRepeaters.count(op) ||
                       kMovers.count(op) || kComputing.count(op);
  return isKnown ? op : "";
}

bool isMadeUp(const TorchNotes &notes, const std::string &name) {
  if (notes.isParameterTarget(name) || notes.bufferTargets().count(name))
    return false;
  size_t output = name.rfind("_output_");
  return name.find("::") != std::string::npos || name.starts_with('/') ||
         name.starts_with("val_") || name.starts_with('_') || isNumber(name) ||
         name.starts_with("Constant") ||
         (output != std::string::npos && isNumber(name.substr(output + 8))) ||
         (notes.namesByOperator() && !operatorOf(name).empty());
}

void becomes(Restoring &work, const std::string &name,
             const std::string &source, const Arrangement &how) {
  if (name == source)
    return;
  Replaced record = recordOf(work, name, source, how);
  bool known = true;
  for (const Use &use : work.edit.uses(name)) {
    known &= use.node->output_size() > 0 && !work.edit.isNew(*use.node);
    auto through = work.through.find({use.node, use.slot});
    if (known)
      record.uses.push_back(
          {use.node->output(0), use.slot,
           through == work.through.end() ? name : through->second, ""});
  }
  const std::string now = arranged(work, source, how, name);
  replaceUses(work, name, now);
  for (Replaced::Use &use : record.uses)
    use.now = now;
  if (known)
    work.file.replaced.push_back(std::move(record));
}

void replaceUses(Restoring &work, const std::string &from,
                 const std::string &to) {
  if (from != to)
    for (const Use &use : work.edit.uses(from))
      work.edit.redirect(use, to);
}

std::string arranged(Restoring &work, const std::string &source,
                     const Arrangement &how, const std::string &copy) {
  GraphEdit &edit = work.edit;
  const std::vector<int64_t> shape = edit.weight(copy)->shape;
  const std::vector<int64_t> own = edit.weight(source)->shape;
  if (how.kind == Arrangement::Same)
    return source;
  if (how.kind == Arrangement::Transpose)
    return edit.add("Transpose", {source}, source + "/transposed",
                    {{"perm", how.perm}});
  std::string value = source;
  if (how.kind == Arrangement::Rows) {
    if (own.size() != 2)
      value = edit.add("Reshape", {source, edit.integers({-1, own.back()})},
                       source + "/table");
    value = isRange(how.rows)
                ? edit.add("Slice",
                           {value, edit.integers({how.rows.front()}),
                            edit.integers({how.rows.back() + 1}),
                            edit.integers({0})},
                           source + "/rows")
                : edit.add("Gather", {value, edit.integers(how.rows)},
                           source + "/rows");
    if (shape.size() == 2)
      return value;
  }
  return edit.add("Reshape", {value, edit.integers(shape)},
                  source + "/reshaped");
}

} // namespace dlc::import
