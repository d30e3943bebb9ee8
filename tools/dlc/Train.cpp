// SPDX-License-Identifier: Apache-2.0
// dlc train: starts the ranks, or runs as one of them.
#include "runtime/base/Text.h"
#include "runtime/base/process/SignalHandlers.h"
#include "runtime/collective/launch/ErrorFile.h"
#include "runtime/train/find/RateTest.h"
#include "runtime/train/run/Restart.h"
#include "runtime/train/run/RunFolder.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"

#include <unistd.h>

namespace dlc::tool {
namespace {

struct TrainArguments : FlagArguments {
  TrainArguments();

  TrainOptions options;
  std::optional<int64_t> ranks; // nullopt: as the run or the model
  LostRanks lost;
  double heartbeat = 10; // seconds
  LaunchFlags launch;
  bool resumeOrStart = false;
  RateTestOptions rateTest;
};

Status checkRanks(const TrainArguments &a) {
  if (a.ranks && a.options.resume.empty())
    return usageError("--ranks needs --resume: a new run has the number of "
                      "ranks that the model was compiled for by --ddp");
  return {};
}

// Checks whether another launcher has started this process.
Status checkLaunch(const TrainArguments &a, const Launch &launch) {
  if ((a.ranks || a.lost.goOn) && launch.isRank() && !launch.isOwn())
    return usageError(
        "--ranks and --on-lost-rank=shrink are for ranks that dlc train "
        "starts, but this is rank {} of {}'s ({}): the launcher chooses the "
        "number of ranks and restarts them, with --resume",
        launch.rendezvous.rank, launch.launcher, launch.facts[0].from);
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
  if (a.rateTest.asked && (!a.options.resume.empty() || a.resumeOrStart ||
                           !a.options.state.empty()))
    return usageError("--find-lr starts with the model's initial state and "
                      "saves no state, so --resume and --state do not apply");
  return {};
}

// Adds options about ranks that apply where they are started.
void addRanks(OptionTable &table, TrainArguments &a) {
  table.group("Ranks");
  a.launch.addTo(table, "run");
  table
      .number("run.heartbeat", a.heartbeat, 0, 1e6,
              "time in seconds without a heartbeat after which a rank is lost, "
              "regardless of --timeout; 0: never")
      .described("SECONDS")
      .notKept();
  table
      .count("run.ranks", a.ranks, 1,
             "number of local ranks of a resumed run (default: as before)",
             65536)
      .notKept();
  table
      .either("run.on-lost-rank", a.lost.goOn, "end", "shrink",
              "reaction to a lost rank; end: the run ends; shrink: the "
              "remaining local ranks continue from the newest checkpoint")
      .notKept();
  table
      .count("run.min-ranks", a.lost.fewest, 1,
             "smallest number of ranks to continue with", 65536)
      .only("run.on-lost-rank", {"shrink"})
      .notKept();
  table
      .count("run.max-restarts", a.lost.restarts, 1,
             "largest number of restarts after lost ranks", 65536)
      .only("run.on-lost-rank", {"shrink"})
      .notKept();
}

TrainArguments::TrainArguments() : FlagArguments("run") {
  table.group("");
  options.addTo(table);
  table.group("");
  table
      .toggle("run.resume-or-start", resumeOrStart,
              "resume --run if it has started, else start it")
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
  const std::string begun = jobNote(); // run of lost ranks
  if (begun.empty() && !o.resume.empty())
    DLC_TRY(checkResume(o, a.table));
  if (!begun.empty())
    o.resume = begun, o.checkpoint.reset(); // newer checkpoints exist
  if (o.resume.empty())
    return {};
  DLC_ASSIGN(o, resumeOptions(o));
  o.artifact = o.resume + "/model.dlc";
  return {};
}

RankEnd endOfRun(Trainer &trainer, int rank) {
  const Result<TrainResult> result = trainer.run();
  if (!result) {
    // The loss is the same on all ranks, so only one reports it.
    const bool told = rank > 0 && result.status().code() == Code::Diverged;
    return endOf(result.status(), !told && trainer.tells());
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
  return endOfRun(**trainer, rank);
}

// Whether the run may exist already: on request, or if the launcher restarted
// its ranks. A resumed run then continues from its newest checkpoint.
Result<bool> mayGoOn(TrainArguments &a, const Launch &launch) {
  TrainOptions &o = a.options;
  if (launch.restarts > 0)
    o.checkpoint.reset();
  if (!o.resume.empty() || (!a.resumeOrStart && launch.restarts == 0))
    return false;
  if (!o.run.empty())
    return true;
  return usageError(
      "{} needs --run, the folder of the run to continue",
      a.resumeOrStart
          ? "--resume-or-start"
          : fmt::format("restart {} of {}", launch.restarts, launch.launcher));
}

std::string rateText(double rate) { return fmt::format("{:.3g}", rate); }

Status tellRates(const RateTestResult &result, const RateTestOptions &test,
                 const std::string &folder) {
  std::span<const RateTestPoint> points = result.points;
  if (result.diverged) {
    info("the loss diverged at step {}, learning rate {}", points.size(),
         rateText(points.back().lr));
    points = points.first(points.size() - 1);
  }
  const RateSuggestion found = suggestRate(points);
  if (!found.steepest)
    return failed("the loss falls nowhere by more than its noise between the "
                  "learning rates {} and "
                  "{}: see '{}/find-lr.csv'; try other --lr-min and --lr-max, "
                  "more --lr-steps or a larger batch",
                  test.low, test.high, folder);
  info("the loss falls fastest at learning rate {}; a tenth of the rate of the "
       "smallest loss is {}; see '{}/find-lr.csv'",
       rateText(*found.steepest), rateText(*found.tenth), folder);
  printOut("{}\n", rateText(*found.steepest));
  return {};
}

// Runs the test, writes find-lr.{csv,svg,png} to options.run or the current
// folder, and prints the suggested rate. Code::Failed if the loss never falls.
RankEnd findRateAsRank(const TrainOptions &options, const RateTestOptions &test,
                       Communicator &communicator) {
  const bool isRoot = communicator.rank() == 0;
  const auto result = runRateTest(options, test, communicator);
  if (!result)
    return endOf(result.status(),
                 isRoot || result.status().code() == Code::PeerLost);
  if (result->signal && isRoot)
    warning("stopped by signal {}: nothing is written", result->signal);
  if (result->signal)
    return {128 + result->signal};
  if (!isRoot)
    return {};
  const std::string folder = options.run.empty() ? "." : options.run;
  Status told = writeRateTest(folder, *result);
  if (told.ok())
    told = tellRates(*result, test, folder);
  return endOf(told);
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
  if (arguments.lost.goOn && options.zeroGroup > 0)
    return usageError(
        "--on-lost-rank=shrink conflicts with --zero-group={}: fewer ranks may "
        "not divide into groups of this size; leave out one of the two",
        options.zeroGroup);
  launch.rendezvous.timeout = milliseconds(options.timeout); // the run's
  launch.rendezvous.silence = milliseconds(arguments.heartbeat);
  launch.rendezvous.byHosts = options.hierarchicalAllReduce;
  setQuiet(options.quiet);
  DLC_ASSIGN(const bool orStart, mayGoOn(arguments, launch));
  auto countRanks = [&]() -> Result<int> {
    if (arguments.ranks)
      return int(*arguments.ranks);
    if (!options.resume.empty())
      return ranksOfRun(options.resume, options.checkpoint);
    if (orStart) {
      DLC_ASSIGN(const bool begun, hasBegun(options));
      if (begun)
        return ranksOfRun(options.run, std::nullopt);
    }
    DLC_ASSIGN(Artifact artifact, Artifact::open(options.artifact));
    return int(artifact.plan().world_size());
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

constexpr const char *kTrainNotes =
    R"(A folder with one folder of pictures (.jpg, .png, .webp) per class is data, too: classes in the
order of their names, pictures resized and cropped to the model's input:
  dlc train net.dlc --data=photos/train --val=photos/val --workers=4 \
    --crop=random --hflip --mean=imagenet --std=imagenet
and so are WebDataset archives of NAME.jpg and NAME.cls: --data='photos-{000..127}.tar'
Language models read token files of nanoGPT and llm.c:
  dlc train gpt.dlc --data=train.bin --val=val.bin --tokens=uint16

An artifact is machine code: train, eval, predict and replay execute it with your rights, so run
only artifacts that you trust. dlc inspect and dlc export execute nothing of an artifact.

A model compiled with --ddp=N is trained by N local ranks, or by those that a launcher starts:
torchrun, srun, mpirun, Kubeflow, Ray Train (dlc doctor env prints this process's rank), or by hand
with --rank, --world-size and --init. torchrun reads flags up to --:
  torchrun --nproc-per-node=2 --no-python -- dlc train lenet.dlc --data=train.npz --run=r

Signals: SIGUSR1 writes a checkpoint after the step, and training continues. SIGINT (Ctrl-C),
SIGTERM, SIGHUP, SIGXCPU and SIGUSR2 write one and end with 128 + their number; a second SIGINT ends
at once (130). Signals go to all ranks; those ignored at the start (nohup) stay ignored.

On several hosts, DLC_JOB_TOKEN (16 characters or more, equal on all) keeps strangers out.

A rank that dies ends the run with code 7 at once; a rank that is stopped or unreachable after
--heartbeat; a rank that others wait for after --timeout. A rank that computes for long is not lost.
The error names the rank, its host and what was waited for, and each rank writes
RUN/flight-HOST.jsonl: dlc debug flight RUN/flight-*.jsonl compares them. With --on-lost-rank=shrink
the other local ranks restart from the newest checkpoint, so use --save-every. A step then has fewer
samples; the number of steps and the learning rates stay, and the epoch continues with its remaining
samples. --resume works with any number of ranks, if the model was compiled for several.

--resume-or-start with --run=RUN is for commands that are run again: it resumes RUN if it has
started. Ranks that torchrun or Slurm restarts resume without it, with any number of ranks.

--resume continues from the newest intact checkpoint, or from that of --checkpoint=STEP: newer
checkpoints are renamed checkpoint-N.newer, and their lines of metrics.jsonl are dropped. A flag given
with --resume applies to that session only. One process at a time writes into a run. A checkpoint that
does not fit on the disk is a warning, or an error if it is the last; the newest intact one is kept.

--find-lr trains for --lr-steps steps from the model's initial state with a learning rate that rises
from --lr-min to --lr-max, until the loss diverges, and writes only find-lr.csv to --run. It prints
the rate at which the smoothed loss falls fastest.

)";

constexpr const char *kTrainExamples =
    "Examples:\n"
    "  dlc train lenet.dlc --data=train.npz --val=test.npz --epochs=10\n"
    "  dlc train lenet.dlc --data=train.npz --find-lr --run=rates\n"
    "  dlc train lenet.dlc --config=exp.yaml\n"
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
  command->footer(std::string(kTrainNotes) + kTrainExamples);
  line.shortHelps[command] = {
      {"--data",       "--val",     "--epochs", "--steps",    "--run",
       "--resume",     "--seed",    "--config", "--threads",  "--workers",
       "--save-every", "--keep",    "--best",   "--patience", "--crop",
       "--hflip",      "--mean",    "--std",    "--scale",    "--tokens",
       "--find-lr",    "--profile", "--quiet"},
      kTrainExamples};
  runIfChosen(line, *command, [&line, arguments] {
    auto code = runTrain(*arguments, line.arguments);
    tellLauncher(code.status());
    return code;
  });
}

} // namespace dlc::tool
