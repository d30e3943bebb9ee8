// SPDX-License-Identifier: Apache-2.0
// dlc config: shows all options with values and help, or differences.
#include "runtime/base/files/Files.h"
#include "tools/dlc-compile/Commands.h"
#include "tools/dlc-compile/Settings.h"

namespace dlc::tool {
namespace {

struct ConfigArguments : Settings {
  ConfigArguments() : Settings(false) {}

  std::string a, b; // files to compare
};

// Path of the options in a file; for an artifact or a run those stored there.
std::string configOf(const std::string &path) {
  for (const char *inside : {"/model.dlc/config.yaml", "/config.yaml"})
    if (exists(path + inside))
      return path + inside;
  return path;
}

using Values = std::map<std::string, std::string>;

Result<Values> valuesOf(const std::string &path) {
  Settings settings(false);
  DLC_ASSIGN(Config config, readConfig(configOf(path)));
  DLC_TRY(settings.table.apply(config, notSection("run")));
  settings.options.train.resolve();
  Values values;
  for (const Option &option : settings.table.all())
    values[option.key] = option.yaml();
  return values;
}

Status showCommand(ConfigArguments &a) {
  DLC_TRY(a.flags.apply());
  printOut("{}", a.table.yaml(true));
  return {};
}

Status diffCommand(const ConfigArguments &a) {
  DLC_ASSIGN(Values before, valuesOf(a.a));
  DLC_ASSIGN(Values after, valuesOf(a.b));
  for (const auto &[key, value] : before)
    if (after[key] != value)
      printOut("{}: {} -> {}\n", key, value, after[key]);
  return {};
}

} // namespace

void addConfig(CommandLine &line) {
  auto a = std::make_shared<ConfigArguments>();
  CLI::App *c = line.app.add_subcommand(
      "config", "show every setting of dlc compile, or compare two files");
  a->flags.addFilesTo(*c);
  a->flags.addOverridesTo(*c);
  CLI::App *diff =
      c->add_subcommand("diff", "the settings in which two files differ");
  for (auto [name, path] : {std::pair("A", &a->a), std::pair("B", &a->b)})
    diff->add_option(name, *path, "a file of settings, an artifact or a run")
        ->required();
  c->footer("Examples:\n"
            "  dlc config > exp.yaml\n"
            "  dlc config --config=exp.yaml train.lr=0.1\n"
            "  dlc config diff lenet.dlc runs/lenet-2");
  runIfChosen(line, *c, [a] { return showCommand(*a); });
  runIfChosen(line, *diff, [a] { return diffCommand(*a); });
}

} // namespace dlc::tool
