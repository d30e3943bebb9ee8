// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/Target.h"
#include "runtime/exec/Devices.h"
#include "tools/dlc-compile/Settings.h"

#include <fmt/ranges.h>

namespace dlc::tool {
namespace {

constexpr const char *kAuto = "auto", *kHost = "cpu";

// The options for the devices of `name` on this machine; `given` ones are kept.
Result<SeenDevices> fitted(TargetOptions &options, const std::string &name,
                           const OptionTable::Given &given) {
  DLC_ASSIGN(SeenDevices seen, seeDevices(name));
  TargetOptions fit = options;
  fit.name = name;
  DLC_TRY(fitTarget(fit, seen.architectures)
              .withContext(seen.text + " cannot be compiled for"));
  if (isGiven(given, "model.sm"))
    fit.sm = options.sm;
  options = std::move(fit);
  return seen;
}

// Architectures of the kernels: "znver3: avx2, fma" or "sm_80, sm_90".
std::string madeFor(const plan::Plan &plan, const TargetOptions &target) {
  if (plan.target() != kHost)
    return fmt::format("--sm={}", fmt::join(target.sm, ","));
  return plan.cpu_features().empty()
             ? plan.cpu()
             : fmt::format("{}: {}", plan.cpu(),
                           fmt::join(plan.cpu_features(), ", "));
}

} // namespace

void TargetChoice::addAuto(OptionTable &table, TargetOptions &target) {
  target.name = kAuto;
  Option &row = *table.find("model.target");
  row.type.insert(1, std::string(kAuto) + ",");
  row.help += "; auto: cuda where the driver reports a GPU, else cpu";
  row.set = [&target, set = row.set](const Words &words) {
    if (words != Words{kAuto})
      return set(words);
    target.name = kAuto;
    return Status();
  };
}

void TargetChoice::find(OptionTable &table, TargetOptions &target) {
  table.whenSet([this, &target](const OptionTable::Given &given) -> Status {
    if (target.name != kAuto)
      return {};
    std::vector<std::string> reasons;
    for (const std::string &name : targetNames()) {
      if (name == kHost)
        continue;
      auto seen = fitted(target, name, given);
      if (seen) {
        why_ = "found here: " + seen->text;
        return {};
      }
      reasons.push_back(seen.status().message());
    }
    target.name = kHost;
    why_ = fmt::format("{}", fmt::join(reasons, "; "));
    return {};
  });
}

std::string TargetChoice::summary(const plan::Plan &plan,
                                  const TargetOptions &target) const {
  std::vector<std::string> others;
  for (const std::string &name : targetNames())
    if (name != target.name)
      others.push_back("--target=" + name);
  return fmt::format("target {} ({}), {}; or {}", plan.target(),
                     madeFor(plan, target), why_, fmt::join(others, ", "));
}

} // namespace dlc::tool
