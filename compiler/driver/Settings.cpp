#include "compiler/driver/Settings.h"
#include "passes/LossTerms.h"
#include "runtime/base/Nearest.h"
#include <fmt/ranges.h>

namespace dlc {

Settings::Settings(CompileOptions &options) : options(options) {
  settings.reserve(256);
  addModel();
  addFineTune();
  addLoss();
  addOptimizer();
  addSchedule();
  addPrecision();
  addAverages();
  addRanks();
  addMemory();
  addAdapters();
}

const Setting *Settings::find(const std::string &key) const {
  for (const Setting &s : settings)
    if (s.key == key)
      return &s;
  return nullptr;
}

Status Settings::set(const Setting &setting,
                     const std::vector<std::string> &words,
                     const std::string &where) {
  return setting.set(words).withContext(where);
}

Status Settings::apply(const Config &config) {
  std::vector<std::string> keys;
  for (const Setting &s : settings)
    keys.push_back(s.key);
  for (const auto &[key, value] : config) {
    if (key.starts_with("run."))
      continue;
    const Setting *setting = find(key);
    if (!setting)
      return usageError("{}: unknown key '{}'{}", value.keyAt, key,
                        suggestion(key, keys));
    DLC_TRY(set(*setting, value.words, value.where + ": " + key));
  }
  return {};
}

/// Whether a setting's value is that of one that is not used.
static bool isOff(const Setting &setting, const std::string &value) {
  return value == "false" || value == "\"\"" ||
         (setting.type == "N" && value == "0");
}

bool Settings::applies(const Setting &setting) const {
  const Setting *on = find(setting.onlyWith);
  if (!on)
    return true;
  std::string found = on->get();
  if (setting.values.empty())
    return !isOff(*on, found) && applies(*on);
  return std::find(setting.values.begin(), setting.values.end(), found) !=
             setting.values.end() &&
         applies(*on);
}

Status Settings::check(const std::vector<std::string> &given) const {
  for (const std::string &key : given) {
    const Setting &setting = *find(key);
    if (applies(setting))
      continue;
    const Setting &on = *find(setting.onlyWith);
    return on.type.empty() || setting.values.empty()
               ? usageError("{} needs {}", setting.flag, on.flag)
               : usageError("{} needs {}={}", setting.flag, on.flag,
                            fmt::join(setting.values, " or "));
  }
  const ScheduleOptions &s = options.train.schedule;
  if (s.name == "multistep" && s.milestones.empty())
    return usageError("--schedule=multistep needs --milestones=A,B,...");
  if (s.cycleSteps == 0)
    for (const std::string &key : given)
      if (key == "train.cycle-mult" || key == "train.cycle-decay")
        return usageError("{} needs --cycle-steps", find(key)->flag);
  if (!s.perEpoch && s.totalSteps && s.warmup >= s.totalSteps)
    return usageError("--warmup={} leaves none of --steps={}", s.warmup,
                      s.totalSteps);
  DLC_TRY(checkAverages(given));
  DLC_TRY(checkScaler());
  const OptimizerOptions &optimizer = options.train.optimizer;
  if (optimizer.nesterov.value_or(false) && optimizer.momentum == 0.0)
    return usageError("--nesterov needs a --momentum above 0");
  return {};
}

Status Settings::checkScaler() const {
  StepOptions step = options.train;
  step.resolve();
  if (!step.scaler.perLoss)
    return {};
  if (!isLossList(step.loss.kind))
    return usageError("--loss-scale-per-loss needs several losses: "
                      "--loss=OUTPUT:KIND[:WEIGHT],...");
  if (step.scaler.scale == "none")
    return usageError("--loss-scale-per-loss needs --loss-scale=dynamic");
  return {};
}

std::string Settings::yaml(bool help) const {
  std::string text, section;
  for (const Setting &s : settings) {
    size_t dot = s.key.find('.');
    if (s.key.substr(0, dot) != section) {
      section = s.key.substr(0, dot);
      text += section + ":\n";
    }
    std::string line = fmt::format("  {}: {}", s.key.substr(dot + 1), s.get());
    text += help ? fmt::format("{:<34} # {}: {}\n", line, s.flag, s.help)
                 : line + "\n";
  }
  return text;
}

} // namespace dlc
