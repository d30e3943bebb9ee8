// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/Groups.h"

#include "runtime/base/process/Log.h"

#include <array>

namespace dlc::tool {
namespace {

struct Moved {
  std::string_view name, parent;
};
constexpr std::array kMoved = {
    Moved{"replay", "debug"}, Moved{"compare", "debug"},
    Moved{"diff", "debug"},   Moved{"flight", "debug"},
    Moved{"env", "doctor"},   Moved{"bench", "doctor"},
    Moved{"cache", "doctor"},
};

} // namespace

void setGroup(CommandLine &line, const char *command, const char *group) {
  line.app.get_subcommand(command)->group(group);
}

CLI::App &addDebug(CommandLine &line) {
  CLI::App *debug = line.app.add_subcommand(
      "debug", "find where a run, a model or a compilation goes wrong");
  debug->require_subcommand(1);
  debug->footer("Examples:\n"
                "  dlc debug replay runs/lenet-1/replay-120\n"
                "  dlc debug compare f32.dlc bf16.dlc --data=train.npz\n"
                "  dlc debug diff lenet.onnx lenet-trained.onnx");
  return *debug;
}

std::vector<std::string> withNewNames(int argc, char **argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 2)
    return words;
  if (words[1] == "help") { // such as dlc help train
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  for (const Moved &moved : kMoved)
    if (words[1] == moved.name) {
      warning("dlc {0} is now dlc {1} {0}; the old name is removed in the next "
              "version",
              moved.name, moved.parent);
      words.insert(words.begin() + 1, std::string(moved.parent));
      break;
    }
  return words;
}

} // namespace dlc::tool
