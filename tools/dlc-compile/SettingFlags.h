// The table of settings as flags, files and overrides of a command.
#pragma once

#include "compiler/driver/Settings.h"
#include "tools/dlc/Commands.h"

namespace dlc::tool {

// Lives as long as the command line: it holds what was given.
class SettingFlags {
public:
  explicit SettingFlags(CompileOptions &options) : settings_(options) {}

  // Adds a flag a setting, --config and the overrides "section.key=VALUE".
  void addTo(CLI::App &command);
  // Only --config and overrides.
  void addFilesTo(CLI::App &command);
  // After parsing: files first, then overrides, then flags.
  Status apply();

  const Settings &settings() const { return settings_; }

private:
  struct Given {
    const Setting *setting;
    CLI::Option *option;
    std::vector<std::string> words;
  };
  void addFlag(CLI::App &command, const Setting &setting);
  Status applyFlag(const Given &given);

  Settings settings_;
  std::vector<std::string> files_, overrides_;
  std::vector<std::unique_ptr<Given>> given_;
};

} // namespace dlc::tool
