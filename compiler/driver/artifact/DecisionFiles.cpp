// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/artifact/DecisionFiles.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "llvm/ADT/StringRef.h"
#include <fmt/ranges.h>

namespace dlc {

std::string decisionsJson(const std::vector<import::Decision> &decisions) {
  Json json = Json::array();
  for (const import::Decision &decision : decisions)
    json.push_back({{"tensor", decision.tensor},
                    {"kind", decision.kind},
                    {"repair", decision.repair},
                    {"why", decision.text}});
  return dumpJson(json, 1) + "\n";
}

static TensorDecision decide(const std::string &name, import::Found found,
                             const bool *trainable, bool lora) {
  using enum import::Role;
  if (found.role == Constant)
    return {name, "frozen", std::move(found.reason)};
  if (!trainable)
    return {name, "unused", "no output depends on it"};
  if (found.role == Buffer)
    return {name, "statistics", std::move(found.reason)};
  if (*trainable)
    return {name, "trained", std::move(found.reason)};
  return {name, "frozen",
          lora ? "only adapters are trained, and what --train names"
               : "no loss gives it a gradient"};
}

std::vector<TensorDecision>
decideTensors(const import::ImportedModel &model,
              const std::map<std::string, bool> &trainable, bool lora) {
  std::vector<TensorDecision> all;
  for (const auto &[name, found] : model.roles) {
    const import::Weight *weight = model.weights.find(name);
    auto state = trainable.find(name);
    const bool isState = state != trainable.end(),
               isWeight = weight && isFloat(weight->dtype) &&
                          (weight->elements() > 1 ||
                           found.role != import::Role::Constant);
    if (isState || isWeight)
      all.push_back(
          decide(name, found, isState ? &state->second : nullptr, lora));
  }
  return all;
}

std::string tensorsJson(const std::vector<TensorDecision> &tensors) {
  Json json = Json::array();
  for (const TensorDecision &entry : tensors)
    json.push_back({{"tensor", entry.tensor},
                    {"decision", entry.decision},
                    {"reason", entry.reason}});
  return dumpJson(json, 1) + "\n";
}

std::string regroupedWarning(const std::vector<import::Decision> &decisions,
                             const std::string &rule) {
  std::vector<std::string> names;
  for (const import::Decision &decision : decisions)
    if (decision.regrouped)
      names.push_back(printable(decision.tensor));
  if (rule.empty() || names.empty())
    return "";
  const size_t shown = std::min<size_t>(names.size(), 3);
  return fmt::format(
      "{} depends on whole tensors, and the exporter split or merged those of "
      "the source: '{}'{}. They train differently than in the source; export "
      "with torch.onnx.export(..., dynamo=True, optimize=False)",
      rule, fmt::join(names.begin(), names.begin() + shown, "', '"),
      shown < names.size() ? fmt::format(" and {} more", names.size() - shown)
                           : "");
}

std::string scoresJson(mlir::ModuleOp module) {
  auto scores = module->getAttrOfType<mlir::DictionaryAttr>("dlc.scores");
  if (!scores)
    return "";
  Json json = {{"ignore", nullptr}};
  for (mlir::NamedAttribute field : scores) {
    const std::string name = field.getName().str();
    if (auto text = llvm::dyn_cast<mlir::StringAttr>(field.getValue()))
      json[name] = text.str();
    else if (auto flag = llvm::dyn_cast<mlir::BoolAttr>(field.getValue()))
      json[name] = flag.getValue();
    else
      json[name] = llvm::cast<mlir::IntegerAttr>(field.getValue()).getInt();
  }
  return dumpJson(json, 1) + "\n";
}

} // namespace dlc
