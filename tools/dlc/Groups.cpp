// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/Groups.h"

namespace dlc::tool {

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

} // namespace dlc::tool
