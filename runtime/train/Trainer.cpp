// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/Trainer.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/Log.h"
#include "runtime/collective/flight/Recorder.h"
#include "runtime/plan/Averages.h"
#include "runtime/train/Agree.h"
#include "runtime/train/Samples.h"
#include "runtime/train/Signals.h"
#include "runtime/train/metrics/Judge.h"
#include "runtime/train/overflow/Guard.h"
#include "runtime/train/record/Recorder.h"
#include "runtime/train/run/Metrics.h"
#include "runtime/train/run/Profile.h"
#include "runtime/train/run/ProgressBar.h"
#include "runtime/train/session/State.h"

#include <fmt/ranges.h>
#include <unistd.h>

namespace dlc {

// "48.0 MiB: ...": what the device holds for this rank.
static std::string memoryText(const Executor &executor) {
  const auto mebibytes = [](uint64_t bytes) {
    return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
  };
  const MemoryReport memory = executor.memory();
  std::string text =
      fmt::format("{}:", mebibytes(memory.regions + memory.workspace));
  const auto &regions = executor.plan().regions();
  for (int i = 0; i < regions.size(); ++i)
    if (const uint64_t bytes = executor.bytesOfRegion(i))
      text += fmt::format(" {} {},", regions[i].name(), mebibytes(bytes));
  return fmt::format("{} libraries and inputs {}; pinned on the host {}", text,
                     mebibytes(memory.workspace), mebibytes(memory.host));
}

// Of the object that --log-json writes.
static std::string membersOf(const EpochEvent &event) {
  std::string values;
  for (const auto &[name, value] : event.values)
    values +=
        fmt::format("{}\"{}\": {}", values.empty() ? "" : ", ", name,
                    std::isfinite(value) ? fmt::format("{}", value) : "null");
  return fmt::format(
      "\"event\": \"epoch\", \"epoch\": {}, \"step\": {}, \"values\": {{{}}}",
      event.epoch, event.step, values);
}

// One rank's part of a run.
class Trainer::Impl {
public:
  explicit Impl(std::unique_ptr<Job> job)
      : ownJob_(std::move(job)), job_(*ownJob_), steps_(job_),
        guard_(job_, steps_) {
    if (job_.hooks.signals)
      signals_.emplace();
  }

  // Before loop(), which is called once.
  Status openFiles() {
    if (!job_.isRoot())
      return {};
    const int64_t step = job_.progress.step;
    DLC_ASSIGN(JsonLines metrics,
               JsonLines::open(job_.run + "/metrics.jsonl", "step", step));
    metrics_.emplace(std::move(metrics));
    DLC_ASSIGN(JsonLines epochs,
               JsonLines::open(job_.run + "/epochs.jsonl", "step", step));
    epochs_.emplace(std::move(epochs));
    const bool hasStatistics = !job_.session->statistics().names().empty();
    if (job_.options.statsEvery.value_or(0) > 0 && !hasStatistics)
      return usageError("--stats-every needs a model that was compiled with "
                        "--stats");
    DLC_ASSIGN(recorders_,
               openRecorders(job_.options, job_.run, step, hasStatistics));
    announce();
    return {};
  }

  const std::string &folder() const { return job_.run; }

  // After an error: the checkpoint that is being written is one to go on from.
  void keepCheckpoint() const {
    if (!job_.isRoot())
      return;
    const Status kept = job_.settleSave(true);
    if (!kept.ok())
      warning("{}", kept.message());
  }

  // After an error: what the ranks did together before it.
  void keepFlight(const Status &error) const {
    FlightRecorder *recorder = job_.communicator.recorder();
    if (!recorder)
      return;
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    const Status kept = writeFlight(
        *recorder,
        {job_.communicator.rank(), job_.communicator.size(), host, error},
        job_.run);
    if (!kept.ok())
      warning("{}", kept.message());
  }

  Result<TrainResult> loop() {
    SignalAgreement agreement(job_.communicator);
    Loader loader(job_.data.sets, job_.sampling, job_.progress.step,
                  job_.total);
    ProgressBar bar(job_.progress.step, job_.total, job_.options.logEvery,
                    job_.sampling.samplesOfUpdate(),
                    job_.isRoot() && !job_.options.quiet);
    while (job_.progress.step < job_.total && !job_.isPatienceOver()) {
      if (Status status = step(loader, bar); !status.ok()) {
        writeWhatIsKnown();
        return status;
      }
      DLC_ASSIGN(const SignalRequest asked,
                 agreement.ask(takeRequest(), job_.progress.step));
      DLC_TRY(atStepEnd(asked, bar));
      if (asked.stop || asked.end)
        return finish(asked);
    }
    return finish({});
  }

private:
  using Clock = std::chrono::steady_clock;

  Result<TrainResult> finish(SignalRequest asked) {
    if (job_.isRoot() && profiling_)
      reportProfile();
    job_.writeTuning(); // validations' too
    if (job_.isRoot() && !job_.options.quiet)
      tellOfWaiting();
    if (job_.isRoot() && job_.lock->check().ok())
      for (const auto &recorder : recorders_)
        recorder->onEnd();
    return TrainResult{job_.run, job_.progress.step, asked.stop, asked.end};
  }

  // Steps that wait for their samples: with what would help.
  void tellOfWaiting() const {
    constexpr double kMuch = 0.1;
    const double share = steps_.shareWaited();
    if (share < kMuch)
      return;
    info("data-bound: {:.0f} % of the time steps waited for samples; {}",
         100 * share,
         adviceOnWaiting(job_.data.sets[0], share, job_.communicator.size()));
  }

  SignalRequest takeRequest() {
    SignalRequest request = signals_ ? signals_->take() : SignalRequest();
    request.end = std::exchange(end_, false);
    const std::chrono::duration<double> since = Clock::now() - saved_;
    isTimed_ = !request.save && job_.isRoot() && job_.options.saveSeconds > 0 &&
               since.count() >= job_.options.saveSeconds;
    request.save |= isTimed_;
    return request;
  }

  void reportProfile() {
    const auto &plan = job_.session->plan();
    const auto *step = findProgram(plan, "train_step", job_.data.sizes[0]);
    info("{}", keepProfile(job_.session->executor().profile(), plan,
                           step->name(), job_.options.threads,
                           job_.options.tune.cacheFolder, job_.run));
  }

  void announce() const {
    if (job_.options.quiet)
      return;
    if (!job_.options.missing.empty())
      info("'{}/config.yaml' is of an older version, without {}: defaults are "
           "taken",
           job_.run, fmt::join(job_.options.missing, ", "));
    if (job_.progress.step >= job_.total)
      return info("run {} has done {} of {} steps: nothing is left; more are "
                  "--steps=N or --epochs=N",
                  job_.run, job_.progress.step, job_.total);
    if (job_.isPatienceOver())
      return info("run {} has ended at step {}: {}", job_.run,
                  job_.progress.step, patienceText());
    info("run {}: {} steps of {} samples{} ({}), {}{}", job_.run, job_.total,
         job_.sampling.samplesOfUpdate(),
         job_.sampling.window > 1 ? " (" + batchText(job_.sampling) + " a rank)"
                                  : "",
         job_.isEndless() ? "as they come"
                          : fmt::format("{} an epoch of {}",
                                        job_.sampling.updatesPerEpoch(
                                            countsOf(job_.data.sets)),
                                        job_.data.samples()),
         ranksText(job_.sampling),
         job_.progress.step > 0
             ? fmt::format(", from step {}", job_.progress.step)
             : std::string());
    if (job_.isEndless() && job_.options.saveEvery == 0 &&
        job_.options.saveSeconds == 0)
      warning("no epoch ends during the run, so the only checkpoint is written "
              "at its end: --save-every=N or a time adds more");
    if (!job_.session->executor().isOnHost())
      info("memory of each GPU: {}", memoryText(job_.session->executor()));
  }

  // Starts a step and reads what has been reported meanwhile.
  Status step(Loader &loader, ProgressBar &bar) {
    if (guard_.isDecisive(steps_.unread()))
      DLC_TRY(readReports(0, bar));
    const bool decisive = guard_.isDecisive(0);
    if (decisive)
      DLC_TRY(guard_.keepState());
    DLC_TRY(checkFolder());
    if (FlightRecorder *recorder = job_.communicator.recorder())
      recorder->setStep(job_.progress.step + 1);
    DLC_TRY(steps_.start(loader));
    if (job_.options.profile && !profiling_) { // not the first step: it binds
      profiling_ = true;
      job_.session->executor().setProfiling(true);
    }
    return readReports(decisive ? 0 : steps_.ahead(), bar);
  }

  // Once a second: steps that no checkpoint can keep need not be done.
  Status checkFolder() {
    if (!job_.isRoot() || Clock::now() - checked_ < std::chrono::seconds(1))
      return {};
    checked_ = Clock::now();
    DLC_TRY(job_.lock->check());
    DLC_TRY(job_.settleSave(false));
    metrics_->follow();
    epochs_->follow();
    return {};
  }

  // Until no more than `unread` are left.
  Status readReports(int64_t unread, ProgressBar &bar) {
    while (steps_.unread() > unread) {
      DLC_ASSIGN(const StepReport report, steps_.read());
      if (job_.isRoot()) {
        writeMetrics(report);
        bar.update(report.step, job_.metric(report.values, "loss"),
                   job_.metric(report.values, "lr"), steps_.shareWaited());
        tell(report);
      }
      DLC_TRY(guard_.check(report, [&] { bar.pause(); }));
    }
    return {};
  }

  // After an error: steps that were done before it.
  void writeWhatIsKnown() {
    while (job_.isRoot() && steps_.unread() > 0) {
      const auto report = steps_.read();
      if (!report.ok())
        return;
      writeMetrics(*report);
    }
  }

  double samplesPerSecond(const StepReport &report) const {
    const Cursor begin = job_.sampling.cursorAfter(report.step - 1, counts_);
    return static_cast<double>(
               job_.sampling.samplesFrom(begin, job_.data.samples())) /
           report.seconds;
  }

  void writeMetrics(const StepReport &report) {
    line_.clear();
    line_.add("step", report.step);
    for (size_t i = 0; i < report.values.size(); ++i)
      line_.add(job_.session->metricNames()[i], report.values[i]);
    line_.add("samples_per_second", samplesPerSecond(report));
    line_.add("data_wait", report.waited);
    metrics_->append(line_.finish());
  }

  // What is due after this step; then every step before is known.
  Status atStepEnd(SignalRequest asked, ProgressBar &bar) {
    const int64_t step = job_.progress.step;
    bool ends = step == job_.total || asked.stop || asked.end;
    const bool epochEnd = job_.progress.cursor.sample == 0;
    const bool validates =
        !job_.val.sets.empty() && (epochEnd || step == job_.total);
    const int64_t every = job_.options.saveEvery;
    bool saves = ends || asked.save ||
                 (every > 0 ? step % every == 0
                            : epochEnd && job_.options.saveSeconds == 0);
    if (!validates && !saves && !epochEnd)
      return {};
    DLC_TRY(readReports(0, bar));
    DLC_TRY(job_.settleBuffers());
    EpochEvent event{job_.progress.cursor.epoch, step, {}};
    if (validates) {
      bar.pause();
      DLC_TRY(validate(event));
      saves |= isNewBest(event);
      ends |= job_.isPatienceOver();
      saves |= ends;
    }
    if (job_.isRoot() && (epochEnd || validates) && job_.lock->check().ok())
      for (const auto &recorder : recorders_)
        recorder->onEpoch(event);
    if (job_.isRoot() && (epochEnd || validates) && logsJson())
      logObject(membersOf(event));
    if (epochEnd && job_.isRoot() && job_.hooks.onEpoch)
      end_ |= !job_.hooks.onEpoch(event);
    if (!saves)
      return {};
    DLC_TRY(job_.save(ends, asked.save && !isTimed_));
    saved_ = Clock::now();
    if (job_.isPatienceOver() && job_.isRoot() && step < job_.total)
      info("ended: {}", patienceText());
    if (asked.save && !isTimed_ && !ends && job_.savedStep == step &&
        !job_.options.quiet) {
      bar.pause();
      info("asked by a signal: wrote checkpoint-{}", step);
    }
    return {};
  }

  Status validate(EpochEvent &event) {
    DLC_TRY(evaluateInto("val", event));
    const int sets = plan::countAverages(job_.session->plan());
    if (sets > 0)
      DLC_TRY(job_.session->executor().gatherState(job_.communicator, true));
    for (int set = 1; set <= sets; ++set) {
      DLC_ASSIGN(StateBytes trained,
                 useAverages(job_.session->executor(), set));
      Status status = evaluateInto(plan::averagesName(set), event);
      DLC_TRY(restoreStates(job_.session->executor(), trained));
      DLC_TRY(status);
    }
    job_.session->executor().dropGathered();
    if (!job_.isRoot())
      return {};
    if (!job_.options.quiet)
      info("{}", epochText(event));
    JsonLine line;
    line.add("epoch", event.epoch).add("step", event.step);
    for (const auto &[name, value] : event.values)
      line.add(name, value);
    epochs_->append(line.finish());
    return {};
  }

  Status evaluateInto(std::string_view name, EpochEvent &event) {
    DLC_ASSIGN(EvalResult result, job_.session->evaluate(job_.val.sets));
    event.values.emplace_back(fmt::format("{}_loss", name), result.loss);
    if (result.accuracy)
      event.values.emplace_back(fmt::format("{}_accuracy", name),
                                *result.accuracy);
    if (!job_.judge)
      return {};
    DLC_ASSIGN(const Judgement judgement, job_.judge->judge());
    for (const auto &[metric, value] : judgement.values)
      setValue(event, fmt::format("{}_{}", name, metric), value);
    if (job_.isRoot() && name == "val")
      writeClasses(classesJson(judgement, event.epoch, event.step));
    return {};
  }

  // The same on all ranks: so are the values.
  bool isNewBest(const EpochEvent &event) {
    if (!job_.bestBy)
      return false;
    for (const auto &[name, value] : event.values)
      if (name == job_.bestBy->key)
        return takeValue(job_.progress.best, value, event.step,
                         job_.bestBy->more, job_.options.minDelta);
    return false;
  }

  std::string patienceText() const {
    const Best &best = job_.progress.best;
    return fmt::format("{} validations without a better {} than {:.6g} of "
                       "step {} (--patience={})",
                       best.waited, job_.bestBy->key, best.value, best.step,
                       job_.options.patience);
  }

  static void setValue(EpochEvent &event, const std::string &key,
                       double value) {
    for (auto &[name, known] : event.values)
      if (name == key) {
        known = value;
        return;
      }
    event.values.emplace_back(key, value);
  }

  // Of the last validation; it is made anew, so that none less is no error.
  void writeClasses(const std::string &text) const {
    if (text.empty())
      return;
    const Status written =
        writeFileAtomically(job_.run + "/classes.json", text + "\n");
    if (!written.ok())
      warning("{}", written.message());
  }

  // "epoch 3: val loss 0.1234 accuracy 97.00 % f1 0.9712"
  static std::string epochText(const EpochEvent &event) {
    std::string text = fmt::format("epoch {}:", event.epoch);
    for (const auto &[name, value] : event.values) {
      const size_t line = name.find('_');
      const std::string metric = name.substr(line + 1);
      if (metric == "loss")
        text += fmt::format(" {} loss {:.4f}", name.substr(0, line), value);
      else if (metric == "accuracy")
        text += fmt::format(" accuracy {:.2f} %", 100 * value);
      else
        text += fmt::format(" {} {:.4f}", metric, value);
    }
    return text;
  }

  void tell(const StepReport &report) {
    const Cursor cursor = job_.sampling.cursorAfter(report.step, counts_);
    const StepEvent event{report.step,
                          job_.total,
                          cursor.epoch - (cursor.sample == 0),
                          job_.session->metricNames(),
                          report.values,
                          static_cast<double>(job_.sampling.samplesOfUpdate()) /
                              report.seconds,
                          job_.sampling.samplesOfUpdate(),
                          report.seconds};
    for (const auto &recorder : recorders_)
      recorder->onStep(event);
    const StatisticsReader &statistics = job_.session->statistics();
    const int64_t every = job_.options.statsEvery.value_or(10);
    if (!statistics.names().empty() && every > 0 && report.step % every == 0)
      for (const auto &recorder : recorders_)
        recorder->onStatistics(
            {report.step, statistics.names(), statistics.values()});
    if (job_.hooks.onStep)
      end_ |= !job_.hooks.onStep(event);
  }

  std::optional<RunSignals> signals_; // from here on: all ranks are ready
  bool end_ = false;                  // a callback asked
  bool isTimed_ = false;              // a checkpoint is due by the clock
  const std::unique_ptr<Job> ownJob_;
  Job &job_;
  const std::vector<int64_t> counts_ = countsOf(job_.data.sets);
  Steps steps_;
  Guard guard_;
  bool profiling_ = false;
  Clock::time_point checked_ = Clock::now(), saved_ = Clock::now();
  std::optional<JsonLines> metrics_, epochs_;
  std::vector<std::unique_ptr<Recorder>> recorders_; // rank 0's
  JsonLine line_;
};

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::~Trainer() = default;

Result<std::unique_ptr<Trainer>> Trainer::create(const TrainOptions &options,
                                                 Communicator &communicator,
                                                 const TrainHooks &hooks) try {
  DLC_ASSIGN(std::unique_ptr<Job> job, Job::open(options, hooks, communicator));
  auto impl = std::make_unique<Impl>(std::move(job));
  DLC_TRY(agree(communicator, impl->openFiles()));
  return std::unique_ptr<Trainer>(new Trainer(std::move(impl)));
} catch (...) {
  return caughtException("the start of the training");
}

const std::string &Trainer::folder() const { return impl_->folder(); }

Result<TrainResult> Trainer::run() {
  auto result = [this]() -> Result<TrainResult> {
    try {
      return impl_->loop();
    } catch (...) {
      return caughtException("training");
    }
  }();
  if (!result.ok()) {
    impl_->keepCheckpoint();
    impl_->keepFlight(result.status());
  }
  return result;
}

} // namespace dlc
