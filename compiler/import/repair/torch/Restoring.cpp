// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <fmt/format.h>

namespace dlc::import {
namespace {

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
    size_t dot = parameter.rfind('.');
    std::string module =
        dot == std::string::npos ? "" : parameter.substr(0, dot);
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

bool Restoring::isFused() const {
  const auto &nodes = edit.graph.node();
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto &node) {
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

} // namespace dlc::import
