#include "compiler/driver/Options.h"
#include "compiler/driver/Settings.h"

namespace dlc {

static CompileOptions resolved(CompileOptions options) {
  options.train.resolve();
  return options;
}

std::string toYaml(const CompileOptions &options) {
  CompileOptions o = resolved(options);
  return Settings(o).yaml(false);
}

std::string toLine(const CompileOptions &options) {
  CompileOptions o = resolved(options);
  return Settings(o).line();
}

void describe(const CompileOptions &options, plan::Plan &plan) {
  CompileOptions o = resolved(options);
  Settings settings(o);
  for (const Setting &setting : settings.all()) {
    std::string value = setting.get(), name = setting.flag.substr(2);
    if (!settings.applies(setting) || value == "[]" ||
        setting.key.starts_with("model.") || name == "loss" || name == "ddp")
      continue;
    plan::Attribute &attribute = *plan.add_schedule();
    attribute.set_name(name);
    if (auto x = parseNumber(value, -kNoLimit, kNoLimit))
      attribute.set_f(*x);
    else
      attribute.set_s(value);
  }
}

} // namespace dlc
