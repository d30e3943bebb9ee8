// SPDX-License-Identifier: Apache-2.0
// dlc sweep: trials of one file, a table and a page about them.
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/Print.h"
#include "tools/dlc/report/Gather.h"
#include "tools/dlc/report/Page.h"
#include "tools/dlc/sweep/SweepRun.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

namespace dlc::tool {
namespace {

constexpr size_t kMostReported = 20; // runs on the page, the best ones

struct SweepArguments {
  SweepArguments() {
    table.group("Options");
    table.text("sweep.file", file, "FILE", "what to try, in YAML")
        .named("file");
    table
        .text("sweep.output", options.folder, "FOLDER",
              "of the sweep (default: the file's name with .sweep)")
        .named("--output")
        .alias = "-o";
    table.count("sweep.slots", options.slots, 1, "trials beside each other",
                1024);
    table.count("sweep.threads", options.threads, 0,
                "of each trial; 0: the cores shared among the slots", 4096);
    table.toggle("sweep.resume", options.resume,
                 "go on with a sweep that was ended");
    table.toggle("sweep.json", json, "the table as one object on stdout");
  }

  std::string file;
  SweepOptions options;
  bool json = false;
  OptionTable table;
  OptionFlags flags{table, onlySection("sweep")};
};

// Trials by their place, the best first.
std::vector<size_t> ranking(const SweepFile &file, const SweepResult &result) {
  std::vector<size_t> order(result.trials.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const TrialResult &x = result.results[a], &y = result.results[b];
    return x.rungs != y.rungs ? x.rungs > y.rungs : isBetter(file, x, y);
  });
  return order;
}

std::string stateOf(const TrialResult &result) {
  return result.code        ? fmt::format("failed ({})", result.code)
         : result.rungs > 0 ? "done"
                            : "not done";
}

// A row a trial: state, value, epochs, then what differs.
std::vector<Words> rowsOf(const SweepFile &file, const SweepResult &result) {
  std::vector<Words> rows = {{"trial", "state", file.metric, "epochs"}};
  for (const SearchedFlag &flag : file.search)
    rows[0].push_back(flag.key);
  for (const size_t i : ranking(file, result)) {
    const TrialResult &one = result.results[i];
    Words row = {fmt::format("{}", result.trials[i].number), stateOf(one),
                 std::isfinite(one.value) ? fmt::format("{:.6g}", one.value)
                                          : "",
                 fmt::format("{}", one.epochs)};
    for (const auto &[key, value] : result.trials[i].values)
      row.push_back(value);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string csvOf(const std::vector<Words> &rows) {
  std::string text;
  for (const Words &row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      text += (i ? "," : "") + csvField(row[i]);
    text += "\n";
  }
  return text;
}

void printRows(const std::vector<Words> &rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const Words &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const Words &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i)
      line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    printOut("{}\n", line);
  }
}

void printAsObject(const SweepFile &file, const SweepResult &result,
                   const std::string &folder) {
  Json trials = Json::array();
  for (const size_t i : ranking(file, result)) {
    const TrialResult &one = result.results[i];
    Json values = Json::object();
    for (const auto &[key, value] : result.trials[i].values)
      values[key] = value;
    trials.push_back(
        {{"trial", result.trials[i].number},
         {"state", one.code    ? "failed"
                   : one.rungs ? "done"
                               : "not done"},
         {"value", std::isfinite(one.value) ? Json(one.value) : Json()},
         {"epochs", one.epochs},
         {"code", one.code},
         {"run", trialFolder(folder, result.trials[i].number)},
         {"values", std::move(values)}});
  }
  printJson(Json{{"metric", file.metric}, {"trials", std::move(trials)}});
}

// Of the runs that there are.
Status writePage(const SweepFile &file, const SweepResult &result,
                 const std::string &folder) {
  Json runs = Json::array();
  for (const size_t i : ranking(file, result)) {
    if (result.results[i].rungs == 0 || runs.size() == kMostReported)
      continue;
    DLC_ASSIGN(Json run,
               gatherRun(trialFolder(folder, result.trials[i].number)));
    runs.push_back(std::move(run));
  }
  if (runs.empty())
    return {};
  return writeFileAtomically(folder + "/report.html",
                             reportPage({{"runs", runs}}));
}

Result<int> sweepCommand(SweepArguments &arguments) {
  SweepOptions &options = arguments.options;
  if (options.folder.empty())
    options.folder =
        std::filesystem::path(arguments.file).stem().string() + ".sweep";
  DLC_ASSIGN(const SweepFile file, readSweepFile(arguments.file));
  DLC_ASSIGN(const SweepResult result, runSweep(file, options));
  const auto rows = rowsOf(file, result);
  DLC_TRY(writeFileAtomically(options.folder + "/sweep.csv", csvOf(rows)));
  DLC_TRY(writePage(file, result, options.folder));
  if (arguments.json)
    printAsObject(file, result, options.folder);
  else
    printRows(rows);
  if (result.signal) {
    warning(
        "stopped by signal {}: go on with dlc sweep {} --output={} --resume",
        result.signal, arguments.file, options.folder);
    return 128 + result.signal;
  }
  const bool any =
      std::any_of(result.results.begin(), result.results.end(),
                  [](const TrialResult &r) { return r.rungs > 0; });
  return any ? 0 : static_cast<int>(Code::Failed);
}

} // namespace

void addSweep(CommandLine &line) {
  CLI::App *command = line.app.add_subcommand(
      "sweep", "train by several settings, say which is best");
  auto arguments = std::make_shared<SweepArguments>();
  addFlagCommand(line, *command, arguments, sweepCommand, {"file"});
  command->footer(
      "The file has four sections; compile and train hold flags of these "
      "commands for all trials,\nsearch what differs between them:\n\n"
      "  sweep:\n"
      "    model: lenet.onnx         # or an artifact\n"
      "    data: train.npz\n"
      "    val: test.npz\n"
      "    method: random            # grid, random, halving, asha\n"
      "    trials: 12                # of all but grid\n"
      "    seed: 0\n"
      "    metric: accuracy          # as --best of dlc train; default loss\n"
      "    epochs: 9                 # of a trial\n"
      "    eta: 3                    # halving, asha: one of so many goes on\n"
      "    least-epochs: 1           # halving, asha: after so many epochs\n"
      "  compile: {optimizer: sgd}\n"
      "  search:\n"
      "    compile.lr: loguniform(1e-3, 1)\n"
      "    compile.batch: [16, 32]   # one of these; of a grid all\n"
      "    train.seed: integers(0, 9)\n\n"
      "uniform, loguniform and integers draw between two numbers, by seed, "
      "trial and flag alone.\nA trial's value is the best of its validations. "
      "halving goes on with the best 1/eta of\nthe trials, eta times as long;\n"
      "asha, for several slots, does not wait for all of a rung. A "
      "schedule with a length should have it as compile: steps.\n\n"
      "The folder has trial-N/ (a run), trial-N.log, sweep.csv, results.json "
      "and report.html (the\nbest 20). Settings of dlc compile are compiled "
      "once "
      "each. Ctrl-C ends trials after a\ncheckpoint; --resume goes on, also "
      "after kill -9, and repeats no trial that is done.\n"
      "Exit code 0: a trial is done; 1: all failed; 2: a trial's settings are "
      "wrong.\n\n"
      "Examples:\n"
      "  dlc sweep lr.yaml --slots=2\n"
      "  dlc sweep lr.yaml -o out --resume\n"
      "  dlc train --resume=lr.sweep/trial-7 --epochs=50");
}

} // namespace dlc::tool
