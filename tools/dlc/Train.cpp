// dlc train: starts the ranks, or is one of them.
#include "runtime/base/Config.h"
#include "runtime/base/Nearest.h"
#include "runtime/base/SignalHandlers.h"
#include "runtime/base/Text.h"
#include "runtime/train/Buffers.h"
#include "runtime/train/Run.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/Validators.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace dlc::tool {
namespace {

struct Arguments {
  TrainOptions options;
  std::string shuffle = "on";
  std::string config;
  bool noGraph = false;
  int ranks = 0; // 0: as the run was, or as compiled
  std::string onLostRank = "end";
  LostRanks lost;
};

void addTuning(CLI::App &command, TuneOptions &o) {
  using Mode = TuneOptions::Mode;
  static const std::map<std::string, Mode> modes = {
      {"off", Mode::Off},
      {"heuristic", Mode::Heuristic},
      {"benchmark", Mode::Benchmark}};
  command
      .add_option_function<std::string>(
          "--tune", [&o](const std::string &word) { o.mode = modes.at(word); },
          "algorithms of a GPU's libraries: off: their first choice, "
          "heuristic (default): what was measured before, benchmark: "
          "measured now")
      ->check(oneOf({"off", "heuristic", "benchmark"}))
      ->type_name("{off,heuristic,benchmark}");
  command
      .add_option("--tune-candidates", o.candidates,
                  "algorithms to measure of each command (default 10)")
      ->type_name("N")
      ->check(wholeNumber(1, 1000));
  command
      .add_option_function<double>(
          "--workspace-mb",
          [&o](double mb) {
            o.workspace = static_cast<uint64_t>(mb * (1 << 20));
          },
          "scratch that an algorithm may use (default 32)")
      ->type_name("MIB")
      ->check(number(0, 1e6));
  command.add_flag("--deterministic", o.deterministic,
                   "only algorithms whose sums have one order, none chosen by "
                   "its time");
  command.add_flag("--tf32", o.tf32,
                   "lets a GPU round the operands of f32 products and "
                   "convolutions to 10 bits: faster, less exact");
  command
      .add_option("--cache-dir", o.cacheFolder,
                  "of what was measured (default as dlc cache)")
      ->type_name("FOLDER");
}

// What of ranks is decided where they are started.
void addRanks(CLI::App &command, Arguments &arguments) {
  command.add_option("--ranks", arguments.ranks,
                     "to go on with, on this machine (default: as before)");
  command
      .add_option("--on-lost-rank", arguments.onLostRank,
                  "end: the run ends (default); shrink: the ranks that are "
                  "left go on from the newest checkpoint")
      ->check(oneOf({"end", "shrink"}))
      ->type_name("{end,shrink}");
  command.add_option("--min-ranks", arguments.lost.fewest,
                     "that a run shrinks to (default 1)");
  command.add_option("--max-restarts", arguments.lost.restarts,
                     "of a run that shrinks (default 10)");
  for (const char *name : {"--ranks", "--min-ranks", "--max-restarts"})
    command.get_option(name)->type_name("N")->check(wholeNumber(1, 65536));
}

void addFlags(CLI::App &command, Arguments &arguments) {
  TrainOptions &o = arguments.options;
  command.add_option("artifact", o.artifact, "model.dlc made by dlc compile");
  command.add_option("--resume", o.resume, "go on with this run")
      ->type_name("RUN");
  command
      .add_option("--checkpoint", o.checkpoint,
                  "of this step, to resume (default: the newest that is whole)")
      ->type_name("STEP")
      ->check(wholeNumber(0));
  command.add_option("--data", o.data, "samples: .npz with arrays x and y")
      ->type_name("FILE");
  command.add_option("--val", o.val, "samples to evaluate after each epoch")
      ->type_name("FILE");
  command.add_option("--epochs", o.epochs, "passes over the data (default 10)");
  command.add_option("--steps", o.steps,
                     "optimizer steps, instead of --epochs");
  command
      .add_option("--shuffle", arguments.shuffle,
                  "order of the samples: on (default), off")
      ->check(oneOf({"on", "off"}))
      ->type_name("{on,off}");
  command.add_option("--seed", o.seed, "of the order (default 0)")
      ->type_name("N")
      ->check(wholeNumber(0));
  command
      .add_option("--scale", o.scale,
                  "factor of the data (default: 1/255 for u8, else 1)")
      ->check(number())
      ->type_name("FACTOR");
  command.add_option("--save-every", o.saveEvery,
                     "steps between checkpoints (default: each epoch)");
  command.add_option("--keep", o.keep,
                     "checkpoints to keep that are whole (default 3)");
  command.add_option("--run", o.run, "run folder (default runs/MODEL-N)")
      ->type_name("FOLDER");
  command.add_flag("--no-graph", arguments.noGraph,
                   "on a GPU, launch a step's commands one by one");
  addTuning(command, o.tune);
  addRanks(command, arguments);
  command
      .add_option("--threads", o.threads,
                  "of each rank (default: cores / ranks)")
      ->type_name("N")
      ->check(wholeNumber(1, 4096));
  command
      .add_option("--timeout", o.timeout,
                  "seconds that a rank may be silent (default 60)")
      ->type_name("SECONDS")
      ->check(number(0.1, 1e6));
  command
      .add_option("--bn-buffers", o.bnBuffers,
                  "running statistics of several ranks, where they are read "
                  "or saved: broadcast: rank 0's (default), mean: over ranks")
      ->check(oneOf({kBufferModes.begin(), kBufferModes.end()}))
      ->type_name("{broadcast,mean}");
  command.add_option("--max-skips", o.maxSkips,
                     "skipped steps in a row that end the run (default 10)");
  command.add_flag("--debug-overflow", o.debugOverflow,
                   "name the node where a skipped step, or a NaN, begins");
  command.add_option("--log-every", o.logEvery,
                     "steps between lines (default: every 2 s)");
  command
      .add_option("--config", arguments.config,
                  "the flags not given here, from its section 'run'")
      ->type_name("FILE");
  command.add_flag("--quiet", o.quiet, "no progress");
  command.add_flag("--profile", o.profile,
                   "time every command: a table at the end, RUN/profile.json");
  for (const char *name : {"--epochs", "--steps", "--save-every", "--keep",
                           "--log-every", "--max-skips"})
    command.get_option(name)->type_name("N")->check(wholeNumber(1));
}

// The section `run` of a file of settings: a key is a flag's name, and a flag
// that was given wins. The other sections are those of dlc compile.
Status applyConfig(CLI::App &command, const std::string &path) {
  DLC_ASSIGN(Config config, readConfig(path));
  std::vector<std::string> keys;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      if (name != "config" && name != "help" && name != "resume" &&
          name != "checkpoint")
        keys.push_back("run." + name);
  for (const auto &[key, value] : config) {
    if (!key.starts_with("run."))
      continue;
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return usageError("{}: unknown key '{}'{}", value.keyAt, key,
                        suggestion(key, keys));
    CLI::Option *option = command.get_option("--" + key.substr(4));
    if (option->count() > 0)
      continue;
    if (value.words.size() != 1)
      return usageError("{}: {}: expected one value, found {}", value.where,
                        key, value.words.size());
    try {
      option->add_result(value.words[0]);
      option->run_callback();
    } catch (const CLI::Error &error) {
      return usageError("{}: {}: {}", value.where, key, error.what());
    }
  }
  return {};
}

// Flags that would make a resumed run another run.
Status checkResume(const CLI::App &command, const Arguments &arguments) {
  if (!arguments.options.artifact.empty())
    return usageError("--resume takes the run's own artifact, found '{}'",
                      arguments.options.artifact);
  for (const char *flag : {"--run", "--seed", "--shuffle", "--scale"})
    if (command.count(flag) > 0)
      return usageError("{} cannot change in a run that is resumed", flag);
  return {};
}

// Whether a launcher other than this program has started this process.
bool isStartedElsewhere() {
  return std::getenv("RANK") && !std::getenv("DLC_RENDEZVOUS");
}

Status settleRanks(const CLI::App &command, Arguments &arguments) {
  arguments.lost.goOn = arguments.onLostRank == "shrink";
  if (arguments.ranks && arguments.options.resume.empty())
    return usageError("--ranks needs --resume: a new run has as many as it "
                      "was compiled for by --ddp");
  for (const char *flag : {"--min-ranks", "--max-restarts"})
    if (command.count(flag) > 0 && !arguments.lost.goOn)
      return usageError("{} needs --on-lost-rank=shrink", flag);
  if ((arguments.ranks || arguments.lost.goOn) && isStartedElsewhere())
    return usageError("--ranks and --on-lost-rank=shrink are for ranks that "
                      "dlc train starts, but RANK is set: its launcher says "
                      "how many there are, and starts them again, with "
                      "--resume");
  return {};
}

// The flags on the command line and in --config, as the keys of config.yaml.
std::set<std::string> givenKeys(const CLI::App &command) {
  std::set<std::string> keys;
  for (const CLI::Option *option : command.get_options())
    for (std::string name : option->get_lnames()) {
      std::replace(name.begin(), name.end(), '-', '_');
      if (option->count() > 0)
        keys.insert(name);
    }
  return keys;
}

Status settleOptions(const CLI::App &command, Arguments &arguments) {
  TrainOptions &o = arguments.options;
  o.given = givenKeys(command);
  o.shuffle = arguments.shuffle == "on";
  o.graph = !arguments.noGraph;
  if (o.steps && o.epochs)
    return usageError("--steps and --epochs are both given, expected one");
  DLC_TRY(settleRanks(command, arguments));
  const std::string begun = jobNote(); // by ranks of which some were lost
  if (begun.empty() && !o.resume.empty())
    DLC_TRY(checkResume(command, arguments));
  if (!begun.empty())
    o.resume = begun, o.checkpoint.reset(); // it has newer ones since
  if (!o.resume.empty()) {
    DLC_ASSIGN(o, resumeOptions(o));
    o.artifact = o.resume + "/model.dlc";
    return {};
  }
  if (o.checkpoint)
    return usageError("--checkpoint needs --resume=RUN, the run that it is of");
  if (o.artifact.empty())
    return usageError("expected an artifact, as in: dlc train model.dlc "
                      "--data=train.npz; or --resume=RUN");
  if (o.data.empty())
    return usageError("expected --data=FILE");
  return {};
}

int coresOfProcess() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int exitCode(const Result<TrainResult> &result, int rank) {
  if (!result) {
    // The loss is the same on all ranks: one of them says so.
    const bool told = rank > 0 && result.status().code() == Code::Diverged;
    return told ? static_cast<int>(Code::Diverged) : report(result.status());
  }
  if (rank == 0 && result->signal)
    warning("stopped by signal {} after step {}: go on with dlc train "
            "--resume={}",
            result->signal, result->steps, shellQuoted(result->run));
  if (rank == 0 && !result->signal)
    printOut("{}\n", result->run);
  return result->signal ? 128 + result->signal : 0;
}

int trainAsRank(TrainOptions options, Communicator &communicator) {
  const int rank = communicator.rank();
  if (rank > 0)
    setLogRank(rank);
  if (options.threads == 0)
    options.threads = std::max(
        1, coresOfProcess() / localRanksFromEnvironment(communicator.size()));
  auto trainer = Trainer::create(options, communicator);
  if (!trainer) {
    const Code code = trainer.status().code();
    return rank == 0 || code == Code::PeerLost ? report(trainer.status())
                                               : static_cast<int>(code);
  }
  if (rank == 0)
    if (Status kept = keepJobNote((*trainer)->folder()); !kept.ok())
      return report(kept);
  return exitCode((*trainer)->run(), rank);
}

Result<int> runTrain(CLI::App &command, Arguments &arguments,
                     const std::vector<std::string> &words) {
  holdSaveSignal(); // nothing to save yet
  if (!arguments.config.empty())
    DLC_TRY(applyConfig(command, arguments.config));
  DLC_TRY(settleOptions(command, arguments));
  const TrainOptions &options = arguments.options;
  setQuiet(options.quiet);
  auto countRanks = [&]() -> Result<int> {
    if (arguments.ranks)
      return arguments.ranks;
    if (!options.resume.empty())
      return ranksOfRun(options.resume, options.checkpoint);
    DLC_ASSIGN(Artifact artifact, Artifact::open(options.artifact));
    return static_cast<int>(artifact.plan().world_size());
  };
  return runAsRanks(
      countRanks, options.timeout, words,
      [&](Communicator &communicator) {
        return trainAsRank(options, communicator);
      },
      arguments.lost);
}

} // namespace

void addTrain(CommandLine &line) {
  CLI::App *command =
      line.app.add_subcommand("train", "train a compiled model");
  auto arguments = std::make_shared<Arguments>();
  addFlags(*command, *arguments);
  command->footer(
      "An artifact is machine code: train, eval, predict and replay execute "
      "it with your\nrights, so run only what you trust. dlc inspect and dlc "
      "export execute nothing of it.\n\n"
      "A model compiled with --ddp=N is trained by N local ranks, or by the "
      "ranks that\ntorchrun and its like start (RANK, WORLD_SIZE, MASTER_ADDR, "
      "MASTER_PORT).\n\n"
      "Signals: SIGUSR1 writes a checkpoint after the step and goes on. SIGINT "
      "(Ctrl-C),\n"
      "SIGTERM, SIGHUP, SIGXCPU and SIGUSR2 write one and end with 128 + their "
      "number; a\n"
      "second SIGINT ends at once (130). They go to all ranks; what was "
      "ignored "
      "at the\n"
      "start (nohup) stays so.\n\n"
      "Ranks on several hosts let no stranger in if DLC_JOB_TOKEN, 16 "
      "characters or more,\n"
      "is the same on all. Tasks that srun or mpirun starts are refused: give "
      "them RANK,\n"
      "WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or start one.\n\n"
      "A rank that dies ends the run with code 7 at once, one that is silent "
      "after\n"
      "--timeout. With --on-lost-rank=shrink\n"
      "the other local ranks start again from the newest checkpoint: so do "
      "--save-every\n"
      "often enough. A step then has fewer samples; the number of steps and "
      "the "
      "learning\n"
      "rates stay, the samples of the epoch that are left come next. --resume "
      "goes on\n"
      "with any number of ranks, if the model was compiled for several.\n\n"
      "--resume goes on from the newest checkpoint that is whole, or from that "
      "of\n"
      "--checkpoint=STEP: newer ones are not removed but set aside as "
      "checkpoint-N.newer,\n"
      "and their lines of metrics.jsonl are dropped. A flag given with it "
      "holds for that session; the run keeps its "
      "own. One\n"
      "process at a time writes into a run. What a full disk does not take "
      "is a warning,\n"
      "and an error if it is the last checkpoint; the newest that is whole "
      "stays.\n\n"
      "Examples:\n"
      "  dlc train lenet.dlc --data=train.npz --val=test.npz --epochs=10\n"
      "  dlc train lenet.dlc --config=exp.yaml\n"
      "  dlc train resnet50.dlc --data=train.npz --tune=benchmark\n"
      "  dlc train lenet.dlc --data=train.npz --on-lost-rank=shrink "
      "--save-every=100\n"
      "  dlc train --resume=runs/lenet-1\n"
      "  dlc train --resume=runs/lenet-1 --checkpoint=400\n"
      "  dlc train --resume=runs/lenet-1 --ranks=2");
  command->callback([&line, command, arguments] {
    line.chosen = [&line, command, arguments] {
      auto code = runTrain(*command, *arguments, line.arguments);
      return code ? *code : report(code.status());
    };
  });
}

} // namespace dlc::tool
