// SPDX-License-Identifier: Apache-2.0
// Commands of the tool. Each adds itself to the command line, and runs if it is
// selected; its result is the exit code.
#pragma once

#include "runtime/base/files/Output.h"
#include "runtime/collective/launch/Launch.h"
#include "runtime/dlc.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace dlc::tool {

// What --help shows of a command; --help=all shows everything.
struct ShortHelp {
  std::vector<std::string> flags;
  std::string footer; // empty: the full one
};

struct CommandLine {
  CLI::App app;
  std::vector<std::string> arguments; // argv, to start local ranks with
  std::function<int()> chosen;        // runs the selected command
  // For commands with many flags; others show all of them.
  std::map<const CLI::App *, ShortHelp> shortHelps;
};

void addTrain(CommandLine &line);
void addEval(CommandLine &line);
void addPredict(CommandLine &line);
void addGenerate(CommandLine &line);
void addInspect(CommandLine &line);
void addCompletion(CommandLine &line);
void addManual(CommandLine &line);
// Subcommands of `parent`: dlc debug, dlc doctor or dlc data.
void addReplay(CommandLine &line, CLI::App &parent);
void addCompare(CommandLine &line, CLI::App &parent);
void addFlight(CommandLine &line, CLI::App &parent);
void addEnv(CommandLine &line, CLI::App &parent);
void addBench(CommandLine &line, CLI::App &parent);
void addCache(CommandLine &line, CLI::App &parent);
void addPreview(CommandLine &line, CLI::App &parent);

// The exit of a rank.
struct RankEnd {
  int code = 0;
  // The rank failed by itself, so the others must not wait for it (abandon()).
  // Otherwise all end at the same step, or another rank was lost.
  bool alone = false;
};
// For the result of the rank's work. `say`: prints an error.
RankEnd endOf(const Status &status, bool say = true);

// Calls `body` as the rank that `launch` assigns to this process. Without a
// launcher, gets the number of ranks: runs the only one, or starts a local
// process per rank, which runs `arguments` again. Returns the exit code.
int runAsRanks(const Launch &launch,
               const std::function<Result<int>()> &countRanks,
               const std::vector<std::string> &arguments,
               const std::function<RankEnd(Communicator &)> &body,
               const LostRanks &lost = {});
std::chrono::milliseconds milliseconds(double seconds);
void addDoctor(CommandLine &line);
void addPlan(CommandLine &line);
void addData(CommandLine &line);
void addReport(CommandLine &line);

// Prints an error, and returns its exit code.
int report(const Status &status);
// The exit code, or that of the error.
int report(const Result<int> &code);

// If `command` is selected, and none below it, the program's exit code is that
// of run(): a code, a Status, or a Result<int>.
template <class Run>
void runIfChosen(CommandLine &line, CLI::App &command, Run run) {
  command.callback([&line, &command, run] {
    if (command.get_subcommands().empty())
      line.chosen = [run] { return report(run()); };
  });
}

// Parses line.arguments and runs the selected command, or prints the command
// line as data (Tree.h) for `--tree`; returns the exit code.
int parseAndRun(CommandLine &line);

// Describes a parse error, with a suggestion.
std::string explain(const CLI::App &app, const CLI::ParseError &error);

// The path of dlc-compile, next to this program.
std::string compilerPath();
// Replaces this process by the program (exec); only returns on failure.
Status execute(const std::string &program,
               const std::vector<std::string> &arguments);

} // namespace dlc::tool
