// SPDX-License-Identifier: Apache-2.0
// dlc: the command line of the training compiler.
#include "runtime/base/options/Environment.h"
#include "runtime/base/process/SignalHandlers.h"
#include "tools/dlc/Commands.h"
#include "tools/process/Process.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace dlc::tool {

std::string compilerPath() {
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "dlc-compile").string();
}

Status execute(const std::string &program,
               const std::vector<std::string> &arguments) {
  std::vector<char *> words;
  for (const std::string &word : arguments)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  ::execv(program.c_str(), words.data());
  return failed("cannot run '{}': {}", program, std::strerror(errno));
}

// Whether the arguments, argv[0] first, select a command of the compiler.
static bool isCompilerCommand(const std::vector<std::string> &arguments) {
  const auto isAt = [&](size_t i, std::initializer_list<const char *> names) {
    return i < arguments.size() && std::ranges::count(names, arguments[i]) > 0;
  };
  return isAt(1, {"compile", "check", "config", "export", "graph"}) ||
         (isAt(1, {"debug"}) && isAt(2, {"diff", "reduce"}));
}

static void addFaults(CommandLine &line) {
  CLI::App &debug = *line.app.add_subcommand(
      "debug", "find where a run, a model or a compilation goes wrong");
  debug.require_subcommand(1);
  debug.footer("Examples:\n"
               "  dlc debug replay runs/lenet-1/replay-120\n"
               "  dlc debug compare f32.dlc bf16.dlc --data=train.npz\n"
               "  dlc debug diff lenet.onnx lenet-trained.onnx");
  addReplay(line, debug);
  addCompare(line, debug);
  debug.add_subcommand("diff", "list the differences of two ONNX models");
  debug.add_subcommand("reduce",
                       "find the smallest part of a model that still fails");
  addFlight(line, debug);
}

static void describe(CommandLine &line) {
  line.app.name("dlc");
  line.app.description("Trains ONNX models: compile once, run anywhere.");
  line.app.set_version_flag("--version", fmt::format("dlc {}", dlcVersion()));
  line.app.require_subcommand(1);
  line.app.add_subcommand("compile",
                          "turn an ONNX model into a training program");
  line.app.add_subcommand("check",
                          "say whether a model can be trained, and its cost");
  line.app.add_subcommand("config",
                          "show every setting of dlc compile, or compare");
  line.app.add_subcommand("export", "write trained weights as an ONNX model");
  addTrain(line);
  addEval(line);
  addPredict(line);
  addGenerate(line);
  addInspect(line);
  line.app.add_subcommand(
      "graph", "draw a model's program after any phase, or an artifact's plan");
  addPlan(line);
  addData(line);
  addReport(line);
  addDoctor(line);
  addFaults(line);
  addCompletion(line);
  addManual(line);
  const auto group = [&](const char *heading,
                         std::initializer_list<const char *> commands) {
    for (const char *name : commands)
      line.app.get_subcommand(name)->group(heading);
  };
  group("Make", {"compile", "check", "config", "export"});
  group("Run", {"train", "eval", "predict", "generate"});
  group("Look", {"inspect", "graph", "plan", "data", "report"});
  group("Find faults", {"doctor", "debug"});
  group("", {"completion", "man"}); // for installers
  line.app.footer(
      "Examples:\n"
      "  dlc compile model.onnx --amp --ddp=2 --ema -o model.dlc\n"
      "  dlc train model.dlc --data=train.npz --val=test.npz --epochs=10\n"
      "  dlc eval runs/model-1 --data=test.npz --json\n"
      "  dlc export runs/model-1 --ema -o trained.onnx\n\n"
      "Exit codes: 0 ok, 1 failed, 2 usage, 3 bad model, 4 corrupt artifact or "
      "checkpoint,\n5 incompatible, 6 memory or limit, 7 peer lost, 8 "
      "diverged (the run holds a replay), "
      "128 + N stopped by signal N\n(130 Ctrl-C, 143 SIGTERM, 141 nobody "
      "reads stdout).");
}

// On a busy machine, OpenMP threads that spin while waiting take cores from the
// threads that they wait for, so that steps take hundreds of times longer.
// OpenMP reads its settings when it is loaded, so the program restarts itself
// with a short spin time, unless the user has set one.
static void waitBriefly(const std::vector<std::string> &arguments) {
  if (environment::setsOpenMpWait())
    return;
  ::setenv("GOMP_SPINCOUNT", "5000", 1);
  (void)execute("/proc/self/exe", arguments);
}

static int run(int argc, char **argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  if (argc > 1 && arguments[1] == "help") { // such as dlc help train
    arguments.erase(arguments.begin() + 1);
    arguments.push_back("--help");
  }
  if (isCompilerCommand(arguments)) // training never loads the compiler
    return report(execute(compilerPath(), arguments));
  waitBriefly(arguments);
  CommandLine line;
  line.arguments = arguments;
  describe(line);
  return parseAndRun(line);
}

} // namespace dlc::tool

int main(int argc, char **argv) {
  dlc::ignoreWriteSignals();
  return dlc::finishOutput(
      dlc::process::runMain("dlc", [&] { return dlc::tool::run(argc, argv); }));
}
