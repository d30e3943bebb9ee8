#include "compiler/driver/Options.h"
#include "compiler/driver/Settings.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace dlc {

static CompileOptions resolved(CompileOptions options) {
  options.train.resolve();
  return options;
}

/// The defaults beside `options`, with its optimizer.
static CompileOptions defaultsOf(const CompileOptions &options) {
  CompileOptions d;
  d.train.optimizer.name = options.train.optimizer.name;
  return resolved(d);
}

std::string toYaml(const CompileOptions &options) {
  CompileOptions o = resolved(options);
  return Settings(o).yaml(false);
}

/// Whether it says something about this program: it is read, and either of its
/// core or not what it would be anyway.
static bool isTelling(const Settings &settings, const Setting &setting,
                      const Settings &defaults) {
  const char *core[] = {"train.loss", "train.optimizer", "train.lr"};
  return settings.applies(setting) &&
         (llvm::is_contained(core, setting.key) ||
          setting.get() != defaults.find(setting.key)->get());
}

std::string toLine(const CompileOptions &options) {
  CompileOptions o = resolved(options), d = defaultsOf(options);
  Settings settings(o), defaults(d);
  std::string text;
  for (const Setting &s : settings.all())
    if (isTelling(settings, s, defaults))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", s.flag.substr(2),
                          s.get());
  return text;
}

void describe(const CompileOptions &options, plan::Plan &plan) {
  CompileOptions o = resolved(options), d = defaultsOf(options);
  Settings settings(o), defaults(d);
  for (const Setting &setting : settings.all()) {
    std::string value = setting.get(), name = setting.flag.substr(2);
    if (!isTelling(settings, setting, defaults) ||
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
