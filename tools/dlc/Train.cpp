// SPDX-License-Identifier: Apache-2.0
// dlc train: starts the ranks, or is one of them.
#include "runtime/base/Text.h"
#include "runtime/base/process/SignalHandlers.h"
#include "runtime/collective/launch/ErrorFile.h"
#include "runtime/train/run/Restart.h"
#include "runtime/train/run/Run.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/train/FindRate.h"

#include <unistd.h>

#include <cstdlib>

namespace dlc::tool {
namespace {

struct TrainArguments {
  TrainArguments();

  TrainOptions options;
  std::optional<int64_t> ranks; // nothing: as the run was, or as compiled
  LostRanks lost;
  double heartbeat = 10; // seconds
  LaunchFlags launch;
  bool resumeOrStart = false;
  RateTestOptions rateTest;
  OptionTable table;
  OptionFlags flags{table, onlySection("run")};
};

Status checkRanks(const TrainArguments &a) {
  if (a.ranks && a.options.resume.empty())
    return usageError("--ranks needs --resume: a new run has as many as it "
                      "was compiled for by --ddp");
  return {};
}

// Whether a launcher other than this program has started this process.
Status checkLaunch(const TrainArguments &a, const Launch &launch) {
  if ((a.ranks || a.lost.goOn) && launch.isRank() && !launch.isOwn())
    return usageError("--ranks and --on-lost-rank=shrink are for ranks that "
                      "dlc train starts, but this is rank {} of {}'s ({}): it "
                      "says how many there are, and starts them again, with "
                      "--resume",
                      launch.rendezvous.rank, launch.launcher,
                      launch.facts[0].from);
  return {};
}

Status checkPlaces(const TrainOptions &o) {
  if (!o.resume.empty())
    return o.artifact.empty()
               ? Status()
               : usageError("--resume takes the run's own artifact, found '{}'",
                            o.artifact);
  if (o.artifact.empty())
    return usageError("expected an artifact, as in: dlc train model.dlc "
                      "--data=train.npz; or --resume=RUN");
  return o.data.empty() && o.dataCommand.empty()
             ? usageError("expected --data=FILE")
             : Status();
}

Status checkRateTest(const TrainArguments &a) {
  if (a.rateTest.asked && (!a.options.resume.empty() || a.resumeOrStart))
    return usageError("--find-lr begins with the model's first state and keeps "
                      "none: not with --resume");
  return {};
}

// What of ranks is decided where they are started.
void addRanks(OptionTable &table, TrainArguments &a) {
  table.group("Ranks");
  a.launch.addTo(table, "run");
  table
      .number("run.heartbeat", a.heartbeat, 0, 1e6,
              "seconds without a sign of life until a rank is lost, however "
              "long --timeout is; 0: never")
      .described("SECONDS")
      .notKept();
  table
      .count("run.ranks", a.ranks, 1,
             "to go on with, on this machine (default: as before)", 65536)
      .notKept();
  table
      .either("run.on-lost-rank", a.lost.goOn, "end", "shrink",
              "end: the run ends; shrink: the ranks that are left go on from "
              "the newest checkpoint")
      .notKept();
  table.count("run.min-ranks", a.lost.fewest, 1, "that a run shrinks to", 65536)
      .only("run.on-lost-rank", {"shrink"})
      .notKept();
  table
      .count("run.max-restarts", a.lost.restarts, 1, "of a run that shrinks",
             65536)
      .only("run.on-lost-rank", {"shrink"})
      .notKept();
}

TrainArguments::TrainArguments() {
  options.addTo(table);
  table.group("");
  table
      .toggle("run.resume-or-start", resumeOrStart,
              "go on with --run if it has begun: the same command again")
      .flagOnly();
  rateTest.addTo(table);
  addRanks(table, *this);
  table.require([this](auto &) { return checkRateTest(*this); });
  table.require([this](auto &) { return checkRanks(*this); });
  table.require([this](auto &) { return checkPlaces(options); });
}

Status settleOptions(TrainArguments &a) {
  TrainOptions &o = a.options;
  o.given = a.flags.given();
  const std::string begun = jobNote(); // by ranks of which some were lost
  if (begun.empty() && !o.resume.empty())
    DLC_TRY(checkResume(o, a.table));
  if (!begun.empty())
    o.resume = begun, o.checkpoint.reset(); // it has newer ones since
  if (o.resume.empty())
    return {};
  DLC_ASSIGN(o, resumeOptions(o));
  o.artifact = o.resume + "/model.dlc";
  return {};
}

RankEnd endOfRun(const Result<TrainResult> &result, int rank) {
  if (!result) {
    // The loss is the same on all ranks: one of them says so.
    const bool told = rank > 0 && result.status().code() == Code::Diverged;
    return endOf(result.status(), !told);
  }
  if (rank == 0 && result->signal)
    warning("stopped by signal {} after step {}: go on with dlc train "
            "--resume={}",
            result->signal, result->steps, shellQuoted(result->run));
  if (rank == 0 && !result->signal)
    printOut("{}\n", result->run);
  return {result->signal ? 128 + result->signal : 0};
}

TrainOptions asRank(TrainOptions options, const Launch &launch,
                    const Communicator &communicator) {
  if (communicator.rank() > 0)
    setLogRank(communicator.rank());
  if (options.threads == 0)
    options.threads = threadsOfRank(launch);
  return options;
}

RankEnd trainAsRank(const TrainOptions &given, const Launch &launch,
                    bool orStart, Communicator &communicator) {
  const int rank = communicator.rank();
  TrainOptions options = asRank(given, launch, communicator);
  options.anyRanks = orStart;
  if (orStart) {
    auto settled = resumeOrStart(options, communicator);
    if (!settled)
      return endOf(settled.status(),
                   rank == 0 || settled.status().code() == Code::PeerLost);
    options = asRank(*std::move(settled), launch, communicator);
  }
  auto trainer = Trainer::create(options, communicator);
  if (!trainer) {
    const Status &status = trainer.status();
    return endOf(status, rank == 0 || status.code() == Code::PeerLost);
  }
  if (rank == 0)
    if (Status kept = keepJobNote((*trainer)->folder()); !kept.ok())
      return endOf(kept);
  return endOfRun((*trainer)->run(), rank);
}

// Whether the run may have begun already: it was asked for, or the launcher has
// started its ranks again. What is resumed then goes on from its newest
// checkpoint.
Result<bool> mayGoOn(TrainArguments &a, const Launch &launch) {
  TrainOptions &o = a.options;
  if (launch.restarts > 0)
    o.checkpoint.reset();
  if (!o.resume.empty() || (!a.resumeOrStart && launch.restarts == 0))
    return false;
  if (!o.run.empty())
    return true;
  return usageError(
      "{} needs --run, the folder to go on with",
      a.resumeOrStart
          ? "--resume-or-start"
          : fmt::format("restart {} of {}", launch.restarts, launch.launcher));
}

Result<int> runTrain(TrainArguments &arguments,
                     const std::vector<std::string> &words) {
  holdSaveSignal(); // nothing to save yet
  DLC_TRY(arguments.flags.apply());
  const TrainOptions &options = arguments.options;
  setLogJson(options.logJson);
  DLC_ASSIGN(Launch launch,
             findLaunch(arguments.launch, milliseconds(options.timeout)));
  DLC_TRY(checkLaunch(arguments, launch));
  DLC_TRY(settleOptions(arguments));
  launch.rendezvous.timeout = milliseconds(options.timeout); // the run's
  launch.rendezvous.silence = milliseconds(arguments.heartbeat);
  launch.rendezvous.byHosts = options.hierarchicalAllReduce;
  setQuiet(options.quiet);
  DLC_ASSIGN(const bool orStart, mayGoOn(arguments, launch));
  auto countRanks = [&]() -> Result<int> {
    if (arguments.ranks)
      return static_cast<int>(*arguments.ranks);
    if (!options.resume.empty())
      return ranksOfRun(options.resume, options.checkpoint);
    if (orStart) {
      DLC_ASSIGN(const bool begun, hasBegun(options));
      if (begun)
        return ranksOfRun(options.run, std::nullopt);
    }
    DLC_ASSIGN(Artifact artifact, Artifact::open(options.artifact));
    return static_cast<int>(artifact.plan().world_size());
  };
  return runAsRanks(
      launch, countRanks, words,
      [&](Communicator &communicator) {
        if (arguments.rateTest.asked)
          return findRateAsRank(asRank(options, launch, communicator),
                                arguments.rateTest, communicator);
        return trainAsRank(options, launch, orStart, communicator);
      },
      arguments.lost);
}

} // namespace

constexpr const char *kTrainExamples =
    "Examples:\n"
    "  dlc train lenet.dlc --data=train.npz --val=test.npz --epochs=10\n"
    "  dlc train lenet.dlc --data=train.npz --find-lr --run=rates\n"
    "  dlc train lenet.dlc --config=exp.yaml\n"
    "  dlc train resnet50.dlc --data=train.npz --tune=benchmark\n"
    "  dlc train lenet.dlc --data=train.npz --on-lost-rank=shrink "
    "--save-every=100\n"
    "  dlc train lenet.dlc --data=train.npz --run=r --resume-or-start\n"
    "  dlc train --resume=runs/lenet-1\n"
    "  dlc train --resume=runs/lenet-1 --checkpoint=400\n"
    "  dlc train --resume=runs/lenet-1 --ranks=2";

void addTrain(CommandLine &line) {
  CLI::App *command =
      line.app.add_subcommand("train", "train a compiled model");
  auto arguments = std::make_shared<TrainArguments>();
  arguments->flags.addTo(*command);
  arguments->flags.addFilesTo(*command);
  command->footer(
      std::string(
          "A folder with a folder of pictures (.jpg, .png, .webp) for each "
          "class "
          "is data too: classes in\nthe order of their names, pictures scaled "
          "and "
          "cropped to the model's input:\n"
          "  dlc train net.dlc --data=photos/train --val=photos/val "
          "--workers=4 "
          "\\\n    --crop=random --hflip --mean=imagenet --std=imagenet\n"
          "and so are WebDataset's archives of NAME.jpg and NAME.cls: "
          "--data='photos-{000..127}.tar'\n"
          "Language models take files of tokens, of nanoGPT and llm.c:\n"
          "  dlc train gpt.dlc --data=train.bin --val=val.bin "
          "--tokens=uint16\n\n"
          "An artifact is machine code: train, eval, predict and replay "
          "execute "
          "it with your\nrights, so run only what you trust. dlc inspect and "
          "dlc "
          "export execute nothing of it.\n\n"
          "A model compiled with --ddp=N is trained by N local ranks, or by "
          "those "
          "that a launcher\nstarts: torchrun, srun, mpirun, Kubeflow, Ray "
          "Train "
          "(dlc doctor env says what it would\nbe), or by hand with --rank, "
          "--world-size "
          "and --init. torchrun reads flags up to --:\n"
          "  torchrun --nproc-per-node=2 --no-python -- dlc train lenet.dlc "
          "--data=train.npz --run=r\n\n"
          "Signals: SIGUSR1 writes a checkpoint after the step and goes on. "
          "SIGINT "
          "(Ctrl-C),\n"
          "SIGTERM, SIGHUP, SIGXCPU and SIGUSR2 write one and end with 128 + "
          "their "
          "number; a\n"
          "second SIGINT ends at once (130). They go to all ranks; what was "
          "ignored "
          "at the\n"
          "start (nohup) stays so.\n\n"
          "Ranks on several hosts let no stranger in if DLC_JOB_TOKEN, 16 "
          "characters or more,\n"
          "is the same on all.\n\n"
          "A rank that dies ends the run with code 7 at once, one that is "
          "stopped or cannot be\n"
          "reached after --heartbeat, one that does not come where others wait "
          "after --timeout;\n"
          "computing for long is neither. The error names it, its host and "
          "what "
          "was waited for,\n"
          "and each rank leaves RUN/flight-RANK.json: dlc debug flight "
          "RUN/flight-*.json "
          "compares them.\n"
          "With --on-lost-rank=shrink\n"
          "the other local ranks start again from the newest checkpoint: so do "
          "--save-every\n"
          "often enough. A step then has fewer samples; the number of steps "
          "and "
          "the "
          "learning\n"
          "rates stay, the samples of the epoch that are left come next. "
          "--resume "
          "goes on\n"
          "with any number of ranks, if the model was compiled for several.\n\n"
          "--resume-or-start with --run=RUN is for commands that are run "
          "again: it "
          "goes on with\nRUN if it has begun. Ranks that torchrun or Slurm has "
          "started again do so by\nthemselves, with whatever number of "
          "ranks.\n\n"
          "--resume goes on from the newest checkpoint that is whole, or from "
          "that "
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
          "--find-lr trains for --lr-steps steps with a rate that rises from "
          "--lr-min to --lr-max,\nfrom the model's first state, until the loss "
          "leaves its range, and keeps nothing but\nfind-lr.csv in "
          "--run. It prints the rate at which the smoothed loss "
          "falls\nfastest.\n\n") +
      kTrainExamples);
  line.shortHelps[command] = {
      {"--data",       "--val",     "--epochs", "--steps",    "--run",
       "--resume",     "--seed",    "--config", "--threads",  "--workers",
       "--save-every", "--keep",    "--best",   "--patience", "--crop",
       "--hflip",      "--mean",    "--std",    "--scale",    "--tokens",
       "--find-lr",    "--profile", "--quiet"},
      kTrainExamples};
  command->callback([&line, arguments] {
    line.chosen = [&line, arguments] {
      auto code = runTrain(*arguments, line.arguments);
      tellLauncher(code.status());
      return report(code);
    };
  });
}

} // namespace dlc::tool
