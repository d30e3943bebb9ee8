// A table of options as flags, files and overrides of a command.
#pragma once

#include "runtime/base/OptionTable.h"
#include "tools/dlc/Commands.h"

namespace dlc::tool {

// Lives as long as the command line: it holds what was given.
class OptionFlags {
public:
  // Keys of the section `foreign` of a file are another command's.
  OptionFlags(OptionTable &table, std::string foreign)
      : table_(table), foreign_(std::move(foreign)) {}

  // Adds a flag an option, --config and the overrides "section.key=VALUE".
  void addTo(CLI::App &command);
  // Only --config and overrides.
  void addFilesTo(CLI::App &command);
  // After parsing: files first, then overrides, then flags.
  Status apply();

private:
  struct Given {
    const Option *option;
    CLI::Option *flag;
    Words words;
  };
  void addFlag(CLI::App &command, const Option &option);
  Status applyFlag(const Given &given);

  OptionTable &table_;
  std::string foreign_;
  Words files_, overrides_;
  std::vector<std::unique_ptr<Given>> given_;
};

} // namespace dlc::tool
