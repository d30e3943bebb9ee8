// SPDX-License-Identifier: Apache-2.0
#include "passes/loss/LossParams.h"
#include "compiler/dialect/Dlc.h"
#include "passes/Step.h"
#include "passes/loss/LossTerms.h"

using namespace mlir;

namespace dlc {

std::vector<std::string> namesOfLosses(const LossOptions &options) {
  std::vector<std::string> names;
  std::string wrong;
  if (isLossList(options.kind))
    if (auto terms = parseLossTerms(options.kind, wrong))
      for (const LossTerm &term : *terms)
        names.push_back(term.name);
  return names;
}

FailureOr<std::vector<StateSet>>
trainedStates(ModuleOp module, const std::vector<std::string> &losses,
              const std::vector<std::string> &rows) {
  std::vector<ir::StateOp> all;
  for (auto state : module.getOps<ir::StateOp>())
    if (state.getTrainable())
      all.push_back(state);
  std::vector<StateSet> trained(losses.size());
  std::vector<bool> isGiven(losses.size());
  for (const std::string &text : rows) {
    auto row = parseLossParams(text, losses);
    if (!row)
      return module.emitError() << "--loss-params: " << row.status().message();
    isGiven[row->loss] = true;
    bool matches = false;
    std::vector<std::string> names;
    for (ir::StateOp state : all) {
      const auto known = namesOf(state);
      llvm::append_range(names, known);
      if (llvm::none_of(known,
                        [&](auto &name) { return row->pattern.search(name); }))
        continue;
      trained[row->loss].insert(state);
      matches = true;
    }
    if (!matches)
      return module.emitError()
             << "--loss-params=" << text << " matches no trained parameter"
             << nearbyNames(row->pattern.text(), names);
  }
  for (auto [states, given] : llvm::zip_equal(trained, isGiven))
    if (!given)
      states.insert(all.begin(), all.end());
  return trained;
}

LogicalResult checkLossParams(ModuleOp module, const LossOptions &options) {
  return trainedStates(module, namesOfLosses(options), options.params);
}

} // namespace dlc
