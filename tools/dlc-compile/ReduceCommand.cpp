// SPDX-License-Identifier: Apache-2.0
// dlc debug reduce: finds a minimal part of a model that still fails a command.
#include "compiler/import/reduce/Reduce.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Subprocess.h"
#include "tools/dlc-compile/Commands.h"
#include "tools/dlc/OptionFlags.h"

#include <algorithm>
#include <csignal>

namespace dlc::tool {
namespace {

constexpr std::string_view kPlaceholder = "{}";

struct ReduceArguments : FlagArguments {
  ReduceArguments() : FlagArguments("reduce") {
    addOutput(table, "reduce.output", output,
              "file of the smallest part found so far");
    table.text("reduce.match", match, "TEXT",
               "text that a line of the command's standard error must contain "
               "(default: any failure with the same exit code counts)");
    table
        .number("reduce.timeout", timeout, 0, 1e6,
                "time limit in seconds of the command on a part (default: ten "
                "times its time on the model, at least 10)")
        .described("SECONDS");
    Option &dim = table.list(
        "reduce.dim", dims, "NAME=N",
        "size of a symbolic dimension, for the shapes of cut tensors");
    dim.repeats = true;
    table.require([this](auto &) -> Status {
      for (const std::string &word : command)
        if (word.find(kPlaceholder) != word.npos)
          return {};
      return usageError("the command after -- has no word with {}, the "
                        "placeholder for the model's file",
                        kPlaceholder);
    });
  }

  std::string model, output, match;
  Words command, dims;
  double timeout = 0; // 0: from the first run
};

volatile sig_atomic_t stopSignal = 0; // the first one; 0: none

// During its lifetime SIGINT, SIGTERM and SIGHUP are recorded and do not end
// the process. One instance per process.
class StopRequest {
public:
  StopRequest() {
    stopSignal = 0;
    handle([](int signal) {
      if (!stopSignal)
        stopSignal = signal;
    });
  }
  StopRequest(const StopRequest &) = delete;
  ~StopRequest() { handle(SIG_DFL); }
  int signal() const { return stopSignal; }

private:
  static void handle(void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
      ::sigaction(signal, &action, nullptr);
  }
};

Result<std::map<std::string, int64_t>> dimsOf(const Words &words) {
  std::map<std::string, int64_t> dims;
  for (const std::string &word : words) {
    const size_t at = word.find('=');
    if (at == word.npos || at == 0)
      return usageError("--dim: expected NAME=N, found '{}'", word);
    DLC_ASSIGN(dims[word.substr(0, at)], parseCount(word.substr(at + 1), 1));
  }
  return dims;
}

// Result of a run of the command.
struct CommandRun : ProgramEnd {
  bool matches = false;
};

class ReducedCommand {
public:
  explicit ReducedCommand(const ReduceArguments &arguments)
      : a_(arguments), limit_(arguments.timeout) {}

  // Runs the whole model, whose failure the parts must reproduce.
  Status learn() {
    const auto start = std::chrono::steady_clock::now();
    DLC_ASSIGN(const CommandRun first, run(a_.model));
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    const std::string said =
        first.lastLine.empty()
            ? ""
            : fmt::format("; its last line is '{}'", printable(first.lastLine));
    if (first.isKilled)
      return failed(
          "the command still runs after {:g} s on '{}': raise --timeout",
          limit_, a_.model);
    if (first.code == 0)
      return failed("the command does not fail on '{}': exit code 0, nothing "
                    "to reduce",
                    a_.model);
    if (!first.matches)
      return failed("the command fails on '{}' with exit code {}, but no line "
                    "of its standard error has '{}'{}",
                    a_.model, first.code, a_.match, said);
    code_ = first.code;
    if (limit_ == 0)
      limit_ = std::max(10.0, 10 * took.count());
    info("exit code {}{}", code_, said);
    if (a_.match.empty())
      info("any failure with exit code {} counts; --match=TEXT restricts it",
           code_);
    return {};
  }

  Result<bool> fails(const std::string &model) {
    DLC_ASSIGN(const CommandRun one, run(model));
    if (one.isKilled || one.code != code_ || !one.matches)
      return false;
    lastLine_ = one.lastLine;
    return true;
  }

  const std::string &lastLine() const { return lastLine_; }
  int signal() const { return stop_.signal(); }

private:
  Result<CommandRun> run(const std::string &model) {
    Words words;
    for (std::string word : a_.command) {
      for (size_t at = 0; (at = word.find(kPlaceholder, at)) != word.npos;
           at += model.size())
        word.replace(at, kPlaceholder.size(), model);
      words.push_back(std::move(word));
    }
    bool matches = a_.match.empty();
    const auto onLine = [&](std::string_view line) {
      matches |= line.find(a_.match) != line.npos;
    };
    const ProgramLimits limits{
        std::chrono::milliseconds(int64_t(limit_ * 1000)),
        [this] { return stop_.signal() == 0; }};
    DLC_ASSIGN(ProgramEnd end, runProgram(words, onLine, limits));
    if (stop_.signal())
      return failed("stopped by a signal");
    return CommandRun{std::move(end), matches};
  }

  const ReduceArguments &a_;
  StopRequest stop_;
  double limit_;
  int code_ = 0;
  std::string lastLine_;
};

Result<int> reduceCommand(ReduceArguments &a) {
  DLC_ASSIGN(const auto dims, dimsOf(a.dims));
  ReducedCommand command(a);
  int left = -1;
  const auto run = [&]() -> Result<import::ModelReduction> {
    DLC_TRY(command.learn());
    return import::reduceModel(
        a.model, dims,
        [&](const std::string &model) { return command.fails(model); },
        [&](const std::string &model, int nodes) {
          if (left != nodes)
            info("{}: {} {}", a.output, nodes, nodes == 1 ? "node" : "nodes");
          left = nodes;
          return writeFileAtomically(a.output, model);
        });
  };
  const auto done = run();
  if (command.signal()) {
    if (left >= 0)
      warning("stopped: '{}' has the smallest part so far, {} nodes", a.output,
              left);
    return 128 + command.signal();
  }
  if (!done)
    return done.status();
  printOut("{}: {} of {} nodes, by {} runs\n", a.output, done->left,
           done->nodes, done->tries);
  for (const std::string &label : done->labels)
    printOut("  {}\n", printable(label));
  if (!command.lastLine().empty())
    printOut("{}\n", printable(command.lastLine(), 500));
  return 0;
}

} // namespace

void addReduce(CommandLine &line, CLI::App &parent) {
  auto a = std::make_shared<ReduceArguments>();
  CLI::App *c = parent.add_subcommand(
      "reduce", "find the smallest part of a model that still fails");
  c->add_option("model", a->model, "the ONNX file")->required();
  c->add_option("command", a->command,
                "after --: a command that fails on the model; {} is replaced "
                "by the file")
      ->required();
  addFlagCommand(line, *c, a, reduceCommand, {"--output"});
  c->footer(
      R"(Runs the command on smaller and smaller parts of the model, and keeps those on which it ends
with the same exit code: first by bisection, then by delta debugging (ddmin). A tensor that is
cut becomes an input. Ctrl-C ends the search; the output has the smallest part so far.
Exit code 1 if the command does not fail on the model.

Examples:
  dlc debug reduce model.onnx -o small.onnx -- dlc check {}
  dlc debug reduce model.onnx -o small.onnx --match='not supported' -- dlc compile {} -o out.dlc
  dlc debug reduce model.onnx -o small.onnx -- python3 judge.py {})");
}

} // namespace dlc::tool
