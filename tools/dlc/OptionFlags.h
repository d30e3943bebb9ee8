// SPDX-License-Identifier: Apache-2.0
// Options of a table as a command's flags, config files and overrides.
#pragma once

#include "runtime/base/options/OptionTable.h"
#include "runtime/train/session/AveragesRow.h"
#include "tools/dlc/Commands.h"

#include <initializer_list>
#include <memory>

namespace dlc::tool {

// Follows the type of a flag whose values accept arguments.
constexpr const char *kArgumentsType = "[(KEY=VALUE...)]";

// Stores given values, so it must live as long as the command line.
class OptionFlags {
public:
  // `own` selects the keys of a config file that belong to this command.
  OptionFlags(OptionTable &table, KeyFilter own)
      : table_(table), own_(std::move(own)) {}

  // Adds a flag per option; a flag without dashes is a positional argument.
  void addTo(CLI::App &command);
  // Adds --config.
  void addFilesTo(CLI::App &command);
  // Adds arguments "section.key=VALUE".
  void addOverridesTo(CLI::App &command);
  // Sets the options after parsing: from files, then overrides, then flags. The
  // table validates values of the command line; a file may have further keys.
  Status apply();
  // Keys of all options that were set, including those in files.
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

// A command's arguments: its options have the keys SECTION.NAME,
// and the group "Options" until the table gets another.
struct FlagArguments {
  explicit FlagArguments(const std::string &section)
      : flags(table, onlySection(section)) {
    table.group("Options");
  }

  OptionTable table;
  OptionFlags flags;
};

// Gives a command the flags of its arguments, of which `required` must be
// present. If the command is selected, they are applied and run(arguments) is
// called; its Status, or exit code as Result<int>, determines the program's
// exit.
template <class Arguments, class Run>
void addFlagCommand(CommandLine &line, CLI::App &command,
                    std::shared_ptr<Arguments> arguments, Run run,
                    std::initializer_list<const char *> required = {}) {
  arguments->flags.addTo(command);
  for (const char *name : required)
    command.get_option(name)->required();
  runIfChosen(line, command, [arguments, run] {
    const Status applied = arguments->flags.apply();
    return applied.ok() ? report(run(*arguments)) : report(applied);
  });
}

// Rows of options that several commands share.

// The argument MODEL: any path that openModel() accepts.
Option &addModel(OptionTable &table, std::string key, std::string &path);

// --threads; `help` describes the default.
Option &addThreads(OptionTable &table, std::string key,
                   std::optional<int64_t> &threads, std::string help);

// -o, --output: an output file.
Option &addOutput(OptionTable &table, std::string key, std::string &path,
                  std::string help);

} // namespace dlc::tool
