// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/roles/FixedNumbers.h"
#include "compiler/import/roles/Padding.h"
#include "compiler/import/roles/Roles.h"
#include "compiler/import/tensor/WeightStore.h"
#include "onnx-ml.pb.h"
#include "runtime/base/options/Pattern.h"
#include <algorithm>
#include <set>

namespace dlc::import {

/// The decision explains why the tensor is separate, not what it contains.
static bool isOpen(const Decision &decision, const OnnxFile &file) {
  const Weight *weight = file.weights.find(decision.tensor);
  if (!weight || !isFloat(weight->dtype) ||
      !decision.tensor.starts_with("onnx::"))
    return false;
  if (decision.kind != "per sample")
    return decision.kind == "parted";
  const std::vector<float> values = floatsOf(*weight);
  return std::ranges::any_of(values, [&](float value) {
    return value != 0 && value != 1 && value != values[0];
  });
}

/// Warns about floats that torch's older exporter ("onnx::Mul_184") or a later
/// tool ("/h.0/Gather_output_0") folded without a sign of being parameters,
/// which have other names or are operands of products.
static Status noteUntrained(OnnxFile &file,
                            const std::map<std::string, Found> &roles,
                            const std::vector<std::string> &frozen) {
  if (!isOfTorch(*file.model))
    return {};
  DLC_ASSIGN(auto freeze, parsePatterns(frozen));
  const Pattern folded = *Pattern::parse("^onnx::|_output_[0-9]+$");
  std::set<std::string> decided;
  for (const Decision &decision : file.decisions)
    if (!isOpen(decision, file))
      decided.insert(decision.tensor);
  for (const auto &[name, found] : roles)
    if (found.doubt == RoleDoubt::Number)
      file.decisions.push_back(
          {name, "number", found.reason + ", which may be learned", true});
    else if (found.role == Role::Constant && folded.search(name) &&
             isFloat(file.weights.find(name)->dtype) &&
             file.weights.find(name)->elements() > 1 && !decided.count(name) &&
             formulaOf(*file.weights.find(name)) == Formula::None &&
             !searchAny(freeze, name))
      file.decisions.push_back({name, "untrained",
                                "was computed by the exporter, and nothing "
                                "says that a parameter is behind it",
                                true});
  return {};
}

/// Weights that onnxruntime's optimizer multiplied by a scale.
static void noteScaled(OnnxFile &file,
                       const std::map<std::string, Found> &roles) {
  for (const auto &[name, found] : roles)
    if (name.starts_with("ConvMulFusion_"))
      file.decisions.push_back({name, "as it is",
                                "onnxruntime's optimizer multiplied a scale "
                                "into it",
                                true});
}

/// Tensors whose name, use and values disagree about parameter or buffer.
static void noteDoubts(OnnxFile &file,
                       const std::map<std::string, Found> &roles) {
  static const std::map<RoleDoubt, const char *> kinds = {
      {RoleDoubt::Values, "fixed"},
      {RoleDoubt::Use, "kept"},
      {RoleDoubt::Name, "trained"},
      {RoleDoubt::Role, "by role"},
      {RoleDoubt::Operand, "operand"}};
  for (const auto &[name, found] : roles)
    if (auto kind = kinds.find(found.doubt); kind != kinds.end())
      file.decisions.push_back({name, kind->second, found.reason, true});
}

Result<std::map<std::string, Found>>
decideRoles(OnnxFile &file, const RoleOverrides &overrides,
            const std::vector<std::string> &paddings,
            const std::vector<std::string> &head) {
  DLC_ASSIGN(auto found, findRoles(file, overrides));
  for (const std::string &name : head) // even if frozen
    found[name] = {Role::Param, "new, by --replace-head"};
  DLC_TRY(noteUntrained(file, found, overrides.freeze));
  noteDoubts(file, found);
  noteScaled(file, found);
  DLC_TRY(findPaddings(file, rolesOf(found), paddings));
  DecisionReport decided = report(file.decisions);
  if (!decided.summary.empty())
    file.remarks.push_back({std::move(decided.summary)});
  for (std::string &warning : decided.warnings)
    file.remarks.push_back({std::move(warning), true});
  return found;
}

} // namespace dlc::import
