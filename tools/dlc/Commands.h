// SPDX-License-Identifier: Apache-2.0
// The commands of the tool. Each adds itself to the command line and is run
// when it was chosen; its result is the exit code.
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

// What --help shows of a command; --help=all shows all.
struct ShortHelp {
  std::vector<std::string> flags;
  std::string footer; // empty: the whole one
};

struct CommandLine {
  CLI::App app;
  std::vector<std::string> arguments; // argv, to start local ranks with
  std::function<int()> chosen;        // what the command line asks for
  // Of commands of many flags; others show all at once.
  std::map<const CLI::App *, ShortHelp> shortHelps;
};

void addTrain(CommandLine &line);
void addEval(CommandLine &line);
void addPredict(CommandLine &line);
void addGenerate(CommandLine &line);
void addInspect(CommandLine &line);
void addCompletion(CommandLine &line);
void addManual(CommandLine &line);
// Below `parent`: dlc debug and dlc doctor.
void addReplay(CommandLine &line, CLI::App &parent);
void addCompare(CommandLine &line, CLI::App &parent);
void addFlight(CommandLine &line, CLI::App &parent);
void addEnv(CommandLine &line, CLI::App &parent);
void addBench(CommandLine &line, CLI::App &parent);
void addCache(CommandLine &line, CLI::App &parent);

// How a rank ends.
struct RankEnd {
  int code = 0;
  // By an error of its own: the others need not wait for it. Otherwise all end
  // at the same step, or it has lost one that is to blame.
  bool alone = false;
};
// By the result of its work. `say`: prints the error, if it is one.
RankEnd endOf(const Status &status, bool say = true);

// Calls `body` as the rank that `launch` says that this process is; otherwise
// asks for the number of ranks, and is the only one, or starts as many local
// processes, which run `arguments` again. The exit code.
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

// Prints the error, if it is one, and returns its exit code.
int report(const Status &status);
// The code, if there is no error.
int report(const Result<int> &code);

// Parses line.arguments and runs what they ask for; the program's exit code.
int parseAndRun(CommandLine &line);

// What is wrong with the command line, with a suggestion.
std::string explain(const CLI::App &app, const CLI::ParseError &error);

// Whether the arguments, argv[0] first, ask for a command of the compiler; then
// dlc-compile, found beside this program, replaces this process.
bool isCompilerCommand(const std::vector<std::string> &arguments);
std::string compilerPath();
// Replaces this process by the program; only returns if it cannot.
Status execute(const std::string &program,
               const std::vector<std::string> &arguments);
Status runCompiler(const std::vector<std::string> &arguments);

} // namespace dlc::tool
