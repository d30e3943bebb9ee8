// SPDX-License-Identifier: Apache-2.0
// dlc-compile: `dlc compile`, `dlc check`, `dlc config`, `dlc export`, `dlc
// graph`, `dlc debug diff` and `dlc debug reduce`.
#include "runtime/base/process/SignalHandlers.h"
#include "tools/dlc-compile/Commands.h"
#include "tools/process/Process.h"

namespace dlc::tool {

static int run(int argc, char **argv) {
  CommandLine line;
  line.arguments.assign(argv, argv + argc);
  line.app.name("dlc");
  line.app.description("The compiler's part of dlc.");
  line.app.require_subcommand(1);
  addCompile(line);
  addCheck(line);
  addConfig(line);
  addExport(line);
  addGraph(line);
  CLI::App &debug = *line.app.add_subcommand("debug");
  addDiff(line, debug);
  addReduce(line, debug);
  return parseAndRun(line);
}

} // namespace dlc::tool

int main(int argc, char **argv) {
  dlc::ignoreWriteSignals();
  return dlc::finishOutput(
      dlc::process::runMain("dlc", [&] { return dlc::tool::run(argc, argv); }));
}
