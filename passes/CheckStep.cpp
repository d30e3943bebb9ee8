// SPDX-License-Identifier: Apache-2.0
// Checks that the model has everything that the step's options name.
#include "compiler/dialect/Dlc.h"
#include "passes/Passes.h"
#include "passes/autocast/CastLists.h"
#include "passes/autocast/CastNames.h"
#include "passes/autocast/CastReport.h"
#include "passes/loss/LossParams.h"
#include "passes/optimizer/ParameterGroups.h"
#include "runtime/base/options/Nearest.h"
#include <set>

using namespace mlir;

namespace dlc {
namespace {

LogicalResult checkNodeRules(ModuleOp module, const CastLists &lists) {
  if (lists.nodeRules().empty())
    return success();
  std::set<std::string> nodes;
  module.walk([&](ir::CastPolicyInterface op) {
    for (std::string &node : nodesOf(op))
      nodes.insert(std::move(node));
  });
  for (const NodeRule &rule : lists.nodeRules()) {
    const bool fits = llvm::any_of(nodes, [&](const std::string &node) {
      return rule.pattern.search(node);
    });
    if (!fits)
      return module.emitError()
             << rule.text << " fits no node"
             << nearbyNames(rule.pattern.text(), {nodes.begin(), nodes.end()});
  }
  return success();
}

LogicalResult checkCasts(ModuleOp module, AmpOptions options) {
  options.resolve();
  if (!options.enabled())
    return success();
  auto lists = CastLists::get(module, options);
  return failed(lists) ? failure() : checkNodeRules(module, *lists);
}

LogicalResult checkLoraTargets(ModuleOp module, const Words &targets) {
  std::vector<std::string> names;
  for (auto state : module.getOps<ir::StateOp>())
    if (state.getTensorType().getRank() > 1)
      llvm::append_range(names, namesOf(state));
  auto patterns = parsePatterns(targets);
  if (!patterns)
    return module.emitError() << patterns.status().message();
  for (const Pattern &pattern : *patterns)
    if (llvm::none_of(names, [&](auto &name) { return pattern.search(name); }))
      return module.emitError() << "--lora-targets=" << pattern.text()
                                << " matches no weight of the model"
                                << nearbyNames(pattern.text(), names);
  return success();
}

} // namespace

LogicalResult checkStep(ModuleOp module, const StepOptions &options) {
  return success(succeeded(checkCasts(module, options.amp)) &&
                 succeeded(checkPatterns(module, options.optimizer)) &&
                 succeeded(checkLossParams(module, options.loss)) &&
                 succeeded(checkLoraTargets(module, options.lora.targets)));
}

std::vector<std::string> takeCastReport(ModuleOp module) {
  std::vector<std::string> lines;
  if (auto report = module->getAttrOfType<ArrayAttr>(kCastReport))
    for (auto line : report.getAsValueRange<StringAttr>())
      lines.push_back(line.str());
  module->removeAttr(kCastReport);
  return lines;
}

} // namespace dlc
