// SPDX-License-Identifier: Apache-2.0
// dlc data samples: where the models and data of the guide are.
#include "tools/dlc/inspect/DataReport.h"

#include "tools/dlc/Commands.h"

#include <filesystem>

namespace dlc::tool {
namespace fs = std::filesystem;

static Status printSamples() {
  std::error_code error;
  const fs::path bin = fs::path(compilerPath()).parent_path();
  const fs::path folder = bin.parent_path() / "share/dlc/models";
  if (!fs::is_directory(folder, error))
    return failed("no folder {}: this installation of dlc lacks its samples",
                  folder.string());
  printOut("{}\n", folder.string());
  return {};
}

void addSamples(CommandLine &line, CLI::App &data) {
  CLI::App *command = data.add_subcommand(
      "samples", "print the folder of the guide's models and data");
  command->footer("Example:\n  ln -s \"$(dlc data samples)\" models");
  command->callback(
      [&line] { line.chosen = [] { return report(printSamples()); }; });
}

} // namespace dlc::tool
