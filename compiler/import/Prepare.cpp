#include "compiler/import/Prepare.h"
#include "compiler/import/LoadWeights.h"
#include "compiler/import/Padding.h"
#include "compiler/import/ReplaceHead.h"
#include "mlir/IR/Diagnostics.h"
#include <fmt/ranges.h>

namespace dlc::import {

Result<std::vector<std::string>>
adapt(OnnxFile &file, const ImportOptions &options, mlir::Location at) {
  std::vector<std::string> head;
  if (options.headClasses) {
    DLC_ASSIGN(head, replaceHead(file, options.headClasses));
    emitRemark(at) << "new head: " << fmt::format("{}", fmt::join(head, ", "))
                   << " of " << options.headClasses << " classes";
  }
  if (!options.weights.empty()) {
    WeightsSource source{
        options.weights, options.weightsPartial, {head.begin(), head.end()}};
    DLC_ASSIGN(std::string summary, loadWeights(file, source));
    emitRemark(at) << summary;
  }
  return head;
}

Result<std::map<std::string, Role>>
decideRoles(OnnxFile &file, const ImportOptions &options,
            const std::vector<std::string> &head, mlir::Location at) {
  DLC_ASSIGN(auto roles, findRoles(file, options.roles));
  for (const std::string &name : head) // frozen or not
    roles[name] = Role::Param;
  DLC_TRY(findPaddings(file, roles, options.paddings));
  DecisionReport decided = report(file.decisions);
  if (!decided.summary.empty())
    emitRemark(at) << decided.summary;
  for (const std::string &warning : decided.warnings)
    emitWarning(at) << warning;
  return roles;
}

} // namespace dlc::import
