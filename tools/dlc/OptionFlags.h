// SPDX-License-Identifier: Apache-2.0
// A table of options as flags, files and overrides of a command.
#pragma once

#include "runtime/base/options/OptionTable.h"
#include "tools/dlc/Commands.h"

#include <initializer_list>
#include <memory>

namespace dlc::tool {

// Behind the type of a flag whose values may have arguments.
constexpr const char *kArgumentsType = "[(KEY=VALUE...)]";

// Lives as long as the command line: it holds what was given.
class OptionFlags {
public:
  // `own` are the keys of a file that are not another command's.
  OptionFlags(OptionTable &table, KeyFilter own)
      : table_(table), own_(std::move(own)) {}

  // Adds a flag an option; a flag without dashes is an argument.
  void addTo(CLI::App &command);
  // Adds --config.
  void addFilesTo(CLI::App &command);
  // Adds arguments "section.key=VALUE".
  void addOverridesTo(CLI::App &command);
  // After parsing: files first, then overrides, then flags. The table checks
  // what the command line asks for, of which a file may hold more.
  Status apply();
  // Keys of all that was set, by files too.
  const OptionTable::Given &given() const { return set_; }

private:
  struct Given {
    const Option *option;
    CLI::Option *flag;
    Words words;
  };
  void addFlag(CLI::App &command, const Option &option);
  Status applyConfig(const Config &config);
  Status checkWords(const Given &given, const Words &words);
  Status applyFlag(const Given &given);

  OptionTable &table_;
  KeyFilter own_;
  OptionTable::Given set_;
  Words files_, overrides_;
  std::vector<std::unique_ptr<Given>> given_;
};

// Gives a command the flags of its arguments, of which those `required` must be
// there; when it is chosen, they are applied and run(arguments) is called: its
// Status, or exit code as a Result<int>, is how the program ends.
template <class Arguments, class Run>
void addFlagCommand(CommandLine &line, CLI::App &command,
                    std::shared_ptr<Arguments> arguments, Run run,
                    std::initializer_list<const char *> required = {}) {
  arguments->flags.addTo(command);
  for (const char *name : required)
    command.get_option(name)->required();
  command.callback([&line, &command, arguments, run] {
    if (!command.get_subcommands().empty()) // one below it was chosen
      return;
    line.chosen = [arguments, run] {
      const Status applied = arguments->flags.apply();
      return applied.ok() ? report(run(*arguments)) : report(applied);
    };
  });
}

} // namespace dlc::tool
