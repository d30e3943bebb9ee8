// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/Trainer.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/Log.h"
#include "runtime/collective/Hosts.h"
#include "runtime/collective/flight/FlightLog.h"
#include "runtime/train/Agree.h"
#include "runtime/train/Due.h"
#include "runtime/train/RankTimes.h"
#include "runtime/train/overflow/Guard.h"
#include "runtime/train/record/Recorders.h"
#include "runtime/train/run/Best.h"
#include "runtime/train/run/Checkpointing.h"
#include "runtime/train/session/EqualRanks.h"

#include <atomic>

namespace dlc {

// One rank's part of a run.
class Trainer::Impl {
public:
  Impl(std::unique_ptr<RunSetup> setup, RunFolder folder)
      : ownSetup_(std::move(setup)), setup_(*ownSetup_),
        folder_(std::move(folder)), checkpointing_(setup_, folder_),
        steps_(setup_, progress_),
        guard_(
            {setup_, folder_, progress_, checkpointing_, steps_, recorders_}) {}

  // Call before loop(), which is called once.
  Status open() {
    DLC_TRY(checkpointing_.open());
    DLC_TRY(checkpointing_.restore(progress_));
    checkpointing_.prepare(progress_);
    if (rules_.checkEvery > 0) {
      DLC_ASSIGN(EqualRanks ranks,
                 EqualRanks::make(setup_.session->executor(), setup_.ranks));
      equalRanks_.emplace(std::move(ranks));
    }
    const auto openRecorders = [this]() -> Status {
      DLC_ASSIGN(recorders_,
                 Recorders::open({setup_, folder_.path(), progress_}));
      return {};
    };
    DLC_TRY(agree(setup_.ranks, openRecorders()));
    if (setup_.hooks.signals)
      signals_.emplace();
    setup_.ranks.setRecord([this](Status &why) {
      const Doing doing = doing_;
      if (doing == kSaves)
        return false;
      why = Status(why.code(),
                   fmt::format("{}: it {} '{}'", why.message(), doing,
                               doing == kReads ? nameOfData(setup_)
                                               : setup_.options.artifact));
      keepFlight(why);
      return true;
    });
    return {};
  }

  ~Impl() { setup_.ranks.setRecord({}); }

  const std::string &folder() const { return folder_.path(); }
  bool tells() const { return tells_; }

  std::unique_ptr<Loader> makeLoader() {
    return std::make_unique<Loader>(setup_.data.sets, setup_.sampling,
                                    progress_.step, setup_.total);
  }

  Result<TrainResult> loop(Loader &loader) {
    SignalAgreement agreement(setup_.ranks, loader.isStream());
    SignalRequest asked;
    if (loader.isStream()) {
      DLC_ASSIGN(asked, agreement.ask(takeRequest(loader), progress_.step));
      if (asked.ends() && progress_.step == 0)
        DLC_TRY(save({.saves = true, .ends = true}, false));
    }
    recorders_.tell(&Recorder::onStart, progress_);
    while (progress_.step < setup_.total && !isPatienceOver() &&
           !asked.ends()) {
      DLC_TRY(step(loader));
      const SignalRequest own = takeRequest(loader);
      const auto since = std::chrono::steady_clock::now();
      DLC_ASSIGN(asked, agreement.ask(own, progress_.step));
      rankTimes_.addBlocked(std::chrono::steady_clock::now() - since);
      Due due = dueAfter(progress_, rules_, asked);
      if (due.syncs)
        DLC_TRY(steps_.meet());
      if (!due.isAny())
        continue;
      DLC_TRY(readReports(0));
      if (due.compares)
        DLC_TRY(equalRanks_->check(progress_.step));
      DLC_TRY(setup_.settleBuffers());
      if (due.validates || due.endsEpoch)
        DLC_TRY(endEpoch(due));
      if (due.saves)
        DLC_TRY(save(due, asked.save));
    }
    recorders_.tell(&Recorder::onEnd, EndEvent{steps_.shareWaited()});
    doing_ = kEnds;
    return TrainResult{folder_.path(), progress_.step, asked.stop, asked.end};
  }

  // After an error: processes reports of steps completed before it.
  void keepReports() {
    recorders_.tell(&Recorder::onPause);
    while (folder_.isOwn() && steps_.unread() > 0) {
      const auto report = steps_.read();
      if (!report.ok())
        return;
      recorders_.tellStepBeforeError(*report);
    }
  }

  // Then completes the checkpoint in progress, from which the run can be
  // resumed, and writes the flight record.
  void keepRest(const Status &error) {
    doing_ = kSaves;
    warnOf(folder_.isOwn() ? checkpointing_.settle(true) : Status());
    doing_ = kEnds;
    keepFlight(error);
  }

private:
  // This rank's current activity, for the report of a hang.
  using Doing = const char *;
  static constexpr Doing kReads = "waits for samples of",
                         kSteps = "does a step of", kValidates = "validates",
                         kSaves = "writes a checkpoint of", kEnds = "ends";

  void keepFlight(const Status &error) {
    FlightLog *log = setup_.ranks.flightLog();
    if (!log)
      return;
    const auto isFirst = writeFlight(
        *log, {setup_.ranks.rank(), setup_.ranks.size(), hostName(), error},
        folder_.path());
    warnOf(isFirst.status());
    tells_ = !isFirst || *isFirst || error.code() != Code::PeerLost;
  }

  bool isPatienceOver() const { return setup_.isPatienceOver(progress_.best); }

  // A signal to all processes of a job may end the samples' program before it
  // arrives here; the failed read is then treated as a stop request.
  SignalRequest takeRequest(Loader &loader) {
    SignalRequest request = signals_ ? signals_->take() : SignalRequest();
    doing_ = kReads;
    if (signals_ && loader.isStream() && !request.stop &&
        !loader.ready().ok() && loader.wasStopped()) {
      const bool save = request.save;
      request = signals_->takeSoon();
      request.save |= save;
    }
    doing_ = kSteps;
    request.end = recorders_.wantEnd();
    request.timed = checkpointing_.isTimeUp();
    return request;
  }

  // Starts a step, and processes available reports.
  Status step(Loader &loader) {
    if (guard_.isDecisive(steps_.unread()))
      DLC_TRY(readReports(0));
    const bool decisive = guard_.isDecisive(0);
    if (decisive)
      DLC_TRY(guard_.keepState());
    DLC_ASSIGN(const bool isFolderThere, checkpointing_.poll());
    if (isFolderThere)
      recorders_.tell(&Recorder::onSecond);
    doing_ = kReads;
    (void)loader.ready().ok(); // start() returns the error
    doing_ = kSteps;
    DLC_TRY(steps_.start(loader));
    return readReports(decisive ? 0 : steps_.ahead());
  }

  // Processes reports until at most `unread` are left.
  Status readReports(int64_t unread) {
    while (steps_.unread() > unread) {
      DLC_ASSIGN(const StepReport report, steps_.read());
      recorders_.tellStep(report, steps_.shareWaited());
      DLC_TRY(guard_.check(report));
      DLC_ASSIGN(const auto ranks, rankTimes_.add(report));
      if (ranks)
        recorders_.tell(&Recorder::onRanks, *ranks);
    }
    return {};
  }

  // Ends an epoch, with its validation, which may end the run.
  Status endEpoch(Due &due) {
    EpochEvent event{progress_.cursor.epoch, progress_.step, due.endsEpoch, {}};
    if (due.validates) {
      recorders_.tell(&Recorder::onPause);
      doing_ = kValidates;
      DLC_ASSIGN(const ValidationEvent validation,
                 validate(setup_, progress_, [&](double share) {
                   recorders_.tell(&Recorder::onValidating, share);
                 }));
      recorders_.tell(&Recorder::onValidation, validation);
      event.values = validation.values;
      due.saves |= takeBest(event);
      DLC_TRY(takePlateau(event));
      due.ends |= isPatienceOver();
      due.saves |= due.ends;
    }
    if (folder_.check().ok())
      recorders_.tell(&Recorder::onEpoch, event);
    return {};
  }

  // Updates the best value; the same on all ranks, as the values are.
  bool takeBest(const EpochEvent &event) {
    if (!setup_.bestBy)
      return false;
    for (const auto &[name, value] : event.values)
      if (name == setup_.bestBy->key)
        return takeValue(progress_.best, value, event.step, setup_.bestBy->more,
                         setup_.options.minDelta);
    return false;
  }

  // The plateau schedule uses the value that decides the best, or the loss.
  Status takePlateau(const EpochEvent &event) {
    Executor &executor = setup_.session->executor();
    const BestBy by = setup_.bestBy.value_or(BestBy{"val_loss", "loss"});
    for (const auto &[name, value] : event.values)
      if (executor.plan().has_plateau() && name == by.key) {
        DLC_ASSIGN(const auto rate, reduceOnPlateau(executor, value, by.more));
        if (rate)
          setup_.tellOnce("lr {} from step {} on: {} has not improved", *rate,
                          event.step + 1, name);
      }
    return {};
  }

  Status save(const Due &due, bool asked) {
    using How = Checkpointing::How;
    doing_ = kSaves;
    DLC_TRY(checkpointing_.save(progress_, due.ends ? How::Last
                                           : asked  ? How::Now
                                                    : How::Planned));
    doing_ = kSteps;
    recorders_.tell(&Recorder::onSaved,
                    SavedEvent{progress_, asked && !due.ends,
                               checkpointing_.savedStep() == progress_.step});
    return {};
  }

  std::atomic<bool> tells_ = true;    // whether to print its error
  std::atomic<Doing> doing_ = kSteps; // outlives setup and loader
  const std::unique_ptr<RunSetup> ownSetup_;
  RunSetup &setup_;
  RunFolder folder_;
  Progress progress_;
  const DueRules rules_ = {setup_.total,
                           !setup_.val.sets.empty(),
                           setup_.options.saveEvery,
                           setup_.options.saveSeconds,
                           setup_.options.checkRanks,
                           setup_.session->syncEvery()};
  Checkpointing checkpointing_;
  Steps steps_;
  Recorders recorders_;
  Guard guard_;
  RankTimes rankTimes_ = {setup_.ranks, setup_.options.logEvery};
  std::optional<EqualRanks> equalRanks_; // with --check-ranks
  std::optional<RunSignals> signals_;    // set when all ranks are ready
};

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::~Trainer() = default;

Result<std::unique_ptr<Trainer>> Trainer::create(const TrainOptions &options,
                                                 Communicator &communicator,
                                                 const TrainHooks &hooks) try {
  DLC_ASSIGN(auto setup, RunSetup::make(options, hooks, communicator));
  DLC_ASSIGN(RunFolder folder,
             RunFolder::open(setup->options.resume, communicator));
  DLC_TRY(setup->prepare());
  if (setup->session->plan().has_plateau() && setup->val.sets.empty())
    return usageError("'{}' was compiled with --schedule=plateau, which lowers "
                      "the learning rate by validations: give --val",
                      options.artifact);
  DLC_TRY(folder.make(setup->options, communicator));
  auto impl = std::make_unique<Impl>(std::move(setup), std::move(folder));
  DLC_TRY(impl->open());
  return std::unique_ptr<Trainer>(new Trainer(std::move(impl)));
} catch (...) {
  return caughtException("the start of the training");
}

const std::string &Trainer::folder() const { return impl_->folder(); }
bool Trainer::tells() const { return impl_->tells(); }

Result<TrainResult> Trainer::run() {
  std::unique_ptr<Loader> loader; // its destructor may wait for a hanging read
  auto result = [&]() -> Result<TrainResult> {
    try {
      loader = impl_->makeLoader();
      auto done = impl_->loop(*loader);
      if (!done.ok())
        impl_->keepReports();
      return done;
    } catch (...) {
      return caughtException("training");
    }
  }();
  if (!result.ok())
    impl_->keepRest(result.status());
  return result;
}

} // namespace dlc
