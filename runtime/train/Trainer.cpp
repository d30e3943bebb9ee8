#include "runtime/train/Trainer.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Log.h"
#include "runtime/plan/Averages.h"
#include "runtime/train/Agree.h"
#include "runtime/train/Inputs.h"
#include "runtime/train/Metrics.h"
#include "runtime/train/Overflow.h"
#include "runtime/train/Profile.h"
#include "runtime/train/ProgressBar.h"
#include "runtime/train/Replay.h"
#include "runtime/train/Signals.h"
#include "runtime/train/Snapshot.h"
#include "runtime/train/State.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace dlc {
namespace {

constexpr int64_t kDefaultEpochs = 10;
constexpr size_t kProfileRows = 15;

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Test hook: DLC_INJECT_INF=3,4,11 makes a gradient of rank 0 infinite at these
// steps, the first one being 1.
std::set<int64_t> infiniteSteps() {
  std::set<int64_t> steps;
  const char *text = std::getenv("DLC_INJECT_INF");
  for (char *end = nullptr; text && *text; text = *end ? end + 1 : end) {
    steps.insert(std::strtoll(text, &end, 10));
    if (end == text)
      break;
  }
  return steps;
}

std::string absolutePath(const std::string &path) {
  std::error_code error;
  auto result = std::filesystem::absolute(path, error);
  return path.empty() || error ? path : result.lexically_normal().string();
}

} // namespace

// One rank's part of a run. prepare() once, then loop() once.
class Trainer::Impl {
public:
  Impl(const TrainOptions &options, Communicator &communicator)
      : options_(options), communicator_(communicator) {}

  Status prepare() {
    DLC_TRY(agree(communicator_, loadData()));
    DLC_TRY(bindStep());
    settleLength();
    DLC_TRY(checkSameJob());
    DLC_TRY(agree(communicator_, openRun()));
    DLC_TRY(agree(communicator_, restore()));
    DLC_TRY(broadcastState(session_->executor(), communicator_));
    DLC_TRY(agree(communicator_, openFiles()));
    const auto &metrics = session_->metricNames();
    const bool maySkip = std::any_of(
        metrics.begin(), metrics.end(), [](const std::string &name) {
          return name == "found_inf" || name == "skipped";
        });
    if (options_.debugOverflow)
      before_.emplace(session_->plan(), Snapshot::Of::All);
    else if (maySkip)
      before_.emplace(session_->plan(), Snapshot::Of::Unguarded);
    return {};
  }

  Result<TrainResult> loop() {
    StopSignals signals;
    SignalAgreement agreement(communicator_);
    Loader loader(*data_, sampling_, progress_.step, total_);
    ProgressBar bar(progress_.step, total_, options_.logEvery,
                    isRoot() && !options_.quiet);
    while (progress_.step < total_) {
      DLC_TRY(step(loader, bar));
      DLC_ASSIGN(int signal, agreement.ask(signals.caught(), progress_.step));
      DLC_TRY(atStepEnd(signal, bar));
      if (signal)
        return finish(signal);
    }
    return finish(0);
  }

private:
  bool isRoot() const { return communicator_.rank() == 0; }

  std::string batchText() const {
    return sampling_.window == 1
               ? fmt::format("{}", sampling_.batch)
               : fmt::format("{} micro-batches of {}", sampling_.window,
                             sampling_.batch);
  }
  std::string ranksText() const {
    return sampling_.world == 1 ? "1 rank"
                                : fmt::format("{} ranks", sampling_.world);
  }

  Result<TrainResult> finish(int signal) {
    if (isRoot() && profiling_)
      DLC_TRY(reportProfile());
    return TrainResult{run_, progress_.step, signal};
  }

  Status reportProfile() {
    const auto commands = session_->executor().profile();
    DLC_TRY(writeProfile(commands, run_ + "/profile.json"));
    info("{}", profileTable(commands, "train_step", kProfileRows));
    return {};
  }

  // The model and the samples, before anything is written.
  Status loadData() {
    DLC_ASSIGN(Artifact artifact, Artifact::open(artifactPath()));
    if (!findProgram(artifact.plan(), "train_step"))
      return failed("'{}' has no training program", artifactPath());
    const plan::Plan &plan = artifact.plan();
    DLC_ASSIGN(data_,
               openDataset(options_.data, plan, "train_step", options_.scale));
    sampling_ = {plan.batch(),         std::max<int64_t>(1, plan.accumulate()),
                 communicator_.rank(), communicator_.size(),
                 options_.shuffle,     options_.seed};
    if (data_->samples() < sampling_.samplesOfUpdate())
      return failed("'{}' has {} samples, expected at least {}: one step of {} "
                    "on {}",
                    options_.data, data_->samples(),
                    sampling_.samplesOfUpdate(), batchText(), ranksText());
    stepsPerEpoch_ = sampling_.updatesPerEpoch(data_->samples());
    if (!options_.val.empty()) {
      DLC_ASSIGN(val_,
                 openDataset(options_.val, plan, "eval_step", options_.scale));
    }
    DLC_ASSIGN(dataHash_, hashFile(options_.data));
    std::string state = artifact.statePath();
    DLC_ASSIGN(session_,
               Session::create({std::move(artifact), {}, std::move(state)},
                               {.threads = options_.threads,
                                .communicator = &communicator_,
                                .record = options_.graph,
                                .timeout = std::chrono::milliseconds(
                                    int64_t(options_.timeout * 1000)),
                                .tune = options_.tune}));
    return {};
  }

  // Rank 0 measures what there is to choose; the others find it in the cache.
  Status bindStep() {
    const bool measures = options_.tune.mode == TuneOptions::Mode::Benchmark;
    const auto bind = [this] {
      return session_->executor().prepare("train_step");
    };
    if (measures)
      DLC_TRY(agree(communicator_, isRoot() ? bind() : Status()));
    return agree(communicator_, bind());
  }

  std::string artifactPath() const {
    return options_.resume.empty() ? options_.artifact
                                   : options_.resume + "/model.dlc";
  }

  // How many steps the run has; what a default decided is written down.
  void settleLength() {
    if (options_.steps == 0 && options_.epochs == 0)
      options_.steps = session_->plan().schedule_steps();
    if (options_.steps == 0 && options_.epochs == 0)
      options_.epochs = kDefaultEpochs;
    total_ =
        options_.steps > 0 ? options_.steps : options_.epochs * stepsPerEpoch_;
  }

  // Ranks that differ in what decides a step would wait for each other in vain.
  Status checkSameJob() {
    const std::string own =
        fmt::format("artifact {}, data {}, {} steps, seed {}, shuffle {}",
                    session_->model().artifact.hash(), dataHash_, total_,
                    options_.seed, options_.shuffle ? "on" : "off");
    DLC_ASSIGN(std::vector<std::string> all, communicator_.allGather(own));
    for (size_t rank = 1; rank < all.size(); ++rank)
      if (all[rank] != all[0])
        return incompatible("rank {} runs another job than rank 0: {}; "
                            "expected {}",
                            rank, all[rank], all[0]);
    return {};
  }

  Status openRun() {
    run_ = options_.resume;
    if (isRoot() && run_.empty()) {
      DLC_ASSIGN(run_, createRun(options_));
    }
    return {};
  }

  // Rank 0 loads; the others get its state and its place.
  Status restore() {
    if (isRoot()) {
      DLC_ASSIGN(progress_, loadNewestCheckpoint(*session_, run_));
      if (progress_.step > 0)
        DLC_TRY(checkSameData());
      DLC_TRY(settleSchedule());
    }
    progress_.dataHash = dataHash_;
    progress_.samples = data_->samples();
    progress_.world = communicator_.size();
    return communicator_.broadcast(&progress_.step, sizeof progress_.step, 0);
  }

  Status checkSameData() const {
    if (progress_.dataHash != dataHash_)
      return failed("'{}' is not the data that the run began with ({} samples, "
                    "hash {}; found {} samples, hash {})",
                    options_.data, progress_.samples, progress_.dataHash,
                    data_->samples(), dataHash_);
    if (progress_.world != communicator_.size())
      return incompatible("the run began with {} ranks, found {}",
                          progress_.world, communicator_.size());
    return {};
  }

  // A schedule that was compiled without a length lasts as long as the run.
  Status settleSchedule() {
    DLC_TRY(setUnlessSet("schedule.steps", total_));
    return setUnlessSet("schedule.epoch_steps", stepsPerEpoch_);
  }

  Status setUnlessSet(const char *state, int64_t value) {
    if (!session_->executor().hasState(state))
      return {};
    int64_t old = 0;
    DLC_TRY(session_->executor().readState(state, &old, sizeof old));
    if (old != 0)
      return {};
    return session_->executor().writeState(state, &value, sizeof value);
  }

  Status openFiles() {
    if (!isRoot())
      return {};
    DLC_ASSIGN(JsonLines metrics, JsonLines::open(run_ + "/metrics.jsonl",
                                                  "step", progress_.step));
    metrics_.emplace(std::move(metrics));
    DLC_ASSIGN(JsonLines epochs,
               JsonLines::open(run_ + "/epochs.jsonl", "step", progress_.step));
    epochs_.emplace(std::move(epochs));
    announce();
    return {};
  }

  void announce() const {
    if (options_.quiet)
      return;
    if (!options_.missing.empty())
      info("'{}/config.yaml' is of an older version, without {}: defaults are "
           "taken",
           run_, fmt::join(options_.missing, ", "));
    if (progress_.step >= total_)
      return info("run {} has done {} of {} steps: nothing is left; more are "
                  "--steps=N or --epochs=N",
                  run_, progress_.step, total_);
    info("run {}: {} steps of {} samples{} ({} an epoch of {}), {}{}", run_,
         total_, sampling_.samplesOfUpdate(),
         sampling_.window > 1 ? " (" + batchText() + " a rank)" : "",
         stepsPerEpoch_, data_->samples(), ranksText(),
         progress_.step > 0 ? fmt::format(", from step {}", progress_.step)
                            : std::string());
  }

  // One update, of as many batches as its window has.
  Status step(Loader &loader, ProgressBar &bar) {
    if (before_)
      DLC_TRY(before_->take(session_->executor()));
    double seconds = 0;
    DLC_ASSIGN(std::span<const double> values, update(loader, seconds));
    if (options_.profile && !profiling_) { // not the first step: it binds
      profiling_ = true;
      session_->executor().setProfiling(true);
    }
    if (isRoot()) {
      DLC_TRY(writeMetrics(values, seconds));
      bar.update(progress_.step, metric(values, "loss"), metric(values, "lr"));
    }
    return checkValues(values, bar);
  }

  // Runs the next update, with a gradient made infinite if the test hook says
  // so, and counts it.
  Result<std::span<const double>> update(Loader &loader, double &seconds) {
    if (injects(progress_.step + 1))
      session_->executor().injectInfinity();
    std::span<const double> values;
    for (int64_t i = 0; i < sampling_.window; ++i) {
      const Batch &batch = *loader.next();
      const auto start = Clock::now();
      DLC_ASSIGN(values, session_->trainStep(batch));
      seconds += secondsSince(start);
    }
    ++progress_.step;
    progress_.epoch = progress_.step / stepsPerEpoch_;
    return values;
  }
  bool injects(int64_t step) const {
    return isRoot() && infiniteSteps_.count(step) > 0;
  }

  // NaN if the program does not report it.
  double metric(std::span<const double> values, std::string_view name) const {
    const auto &names = session_->metricNames();
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == name)
        return values[i];
    return NAN;
  }

  // Skipped steps are borne; too many in a row, and a loss that is not finite
  // in a step that was not skipped, end the run.
  Status checkValues(std::span<const double> values, ProgressBar &bar) {
    const double loss = metric(values, "loss");
    const bool skipped =
        metric(values, "found_inf") > 0 || metric(values, "skipped") > 0;
    if (!skipped && std::isfinite(loss)) {
      skips_ = 0;
      return {};
    }
    const bool ends = !skipped || ++skips_ >= options_.maxSkips;
    if (!ends && !options_.debugOverflow)
      return {};
    bar.pause();
    const std::string what =
        skipped ? fmt::format("step {} was skipped, the {}. in a row",
                              progress_.step, skips_)
                : fmt::format("the loss is {} at step {}",
                              std::isnan(loss) ? NAN : loss, progress_.step);
    Incident incident{progress_.step, options_.threads,
                      infiniteSteps_.count(progress_.step) > 0, what,
                      metricTexts(*session_, values)};
    DLC_TRY(goBack(skipped));
    const std::vector<Batch> window = windowOf(progress_.step);
    const std::string bundle =
        fmt::format("{}/replay-{}", run_, progress_.step);
    if (ends)
      DLC_TRY(writeBundle(bundle, *session_, communicator_, window, incident));
    if (options_.debugOverflow) {
      DLC_ASSIGN(const std::string place,
                 findOverflow(*session_, communicator_, window,
                              injects(progress_.step)));
      if (isRoot())
        warning("{}: {}", what,
                place.empty() ? "all values are finite" : place);
    }
    return ends ? diverged("{}: training diverged; the last checkpoint in '{}' "
                           "is from before; dlc replay {} does it again and "
                           "names the node; try a lower learning rate or "
                           "--clip-grad",
                           what, run_, bundle)
                : Status();
  }

  // To the state before the last step. Without a copy of it that is enough, the
  // run goes back to its newest checkpoint and from there on to the step.
  Status goBack(bool skipped) {
    if (before_ && (skipped || options_.debugOverflow))
      return before_->restore(session_->executor());
    const int64_t step = progress_.step;
    DLC_TRY(agree(communicator_, restore()));
    DLC_TRY(broadcastState(session_->executor(), communicator_));
    if (isRoot() && progress_.step + 1 < step)
      info("doing the steps from {} to {} again, to keep the state before step "
           "{}",
           progress_.step + 1, step - 1, step);
    Loader loader(*data_, sampling_, progress_.step, step - 1);
    double seconds = 0;
    while (progress_.step + 1 < step)
      DLC_TRY(update(loader, seconds).status());
    progress_.step = step;
    return {};
  }

  // The batches of an update, as the loader made them.
  std::vector<Batch> windowOf(int64_t step) const {
    Loader loader(*data_, sampling_, step - 1, step);
    std::vector<Batch> window;
    while (const Batch *batch = loader.next())
      window.push_back(*batch);
    return window;
  }

  Status writeMetrics(std::span<const double> values, double seconds) {
    line_.clear();
    line_.add("step", progress_.step);
    for (size_t i = 0; i < values.size(); ++i)
      line_.add(session_->metricNames()[i], values[i]);
    line_.add("samples_per_second",
              static_cast<double>(sampling_.samplesOfUpdate()) / seconds);
    return metrics_->append(line_.finish());
  }

  Status atStepEnd(int signal, ProgressBar &bar) {
    const bool last = progress_.step == total_ || signal;
    const bool epochEnd = progress_.step % stepsPerEpoch_ == 0;
    if ((epochEnd || progress_.step == total_) && val_) {
      bar.pause();
      DLC_TRY(validate());
    }
    const bool due = options_.saveEvery > 0
                         ? progress_.step % options_.saveEvery == 0
                         : epochEnd;
    if (!due && !last)
      return {};
    Status saved;
    if (isRoot())
      saved = saveCheckpoint(*session_, run_, progress_, options_.keep);
    return agree(communicator_, saved);
  }

  Status validate() {
    JsonLine line;
    line.add("epoch", progress_.epoch).add("step", progress_.step);
    std::string text = fmt::format("epoch {}:", progress_.epoch);
    DLC_TRY(evaluateInto("val", line, text));
    const int sets = plan::countAverages(session_->plan());
    for (int set = 1; set <= sets; ++set) {
      DLC_ASSIGN(StateBytes trained, useAverages(session_->executor(), set));
      Status status = evaluateInto(plan::averagesName(set), line, text);
      DLC_TRY(restoreStates(session_->executor(), trained));
      DLC_TRY(status);
    }
    if (!isRoot())
      return {};
    if (!options_.quiet)
      info("{}", text);
    return epochs_->append(line.finish());
  }

  Status evaluateInto(std::string_view name, JsonLine &line,
                      std::string &text) {
    DLC_ASSIGN(EvalResult result, session_->evaluate(*val_));
    line.add(fmt::format("{}_loss", name), result.loss);
    text += fmt::format(" {} loss {:.4f}", name, result.loss);
    if (result.accuracy) {
      line.add(fmt::format("{}_accuracy", name), *result.accuracy);
      text += fmt::format(" accuracy {:.2f} %", 100 * *result.accuracy);
    }
    return {};
  }

  TrainOptions options_;
  Communicator &communicator_;
  std::optional<Dataset> data_, val_;
  Sampling sampling_;
  std::string dataHash_;
  std::unique_ptr<Session> session_;
  std::string run_;
  Progress progress_;
  int64_t stepsPerEpoch_ = 0, total_ = 0;
  bool profiling_ = false;
  const std::set<int64_t> infiniteSteps_ = infiniteSteps();
  int64_t skips_ = 0;              // in a row
  std::optional<Snapshot> before_; // the state before the last step
  std::optional<JsonLines> metrics_, epochs_;
  JsonLine line_;
};

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::~Trainer() = default;

Result<std::unique_ptr<Trainer>> Trainer::create(const TrainOptions &given,
                                                 Communicator &communicator) {
  TrainOptions options = given;
  for (auto member :
       {&TrainOptions::artifact, &TrainOptions::data, &TrainOptions::val})
    options.*member = absolutePath(options.*member);
  if (options.keep < 1)
    return usageError("keep is {}, expected at least 1 checkpoint",
                      options.keep);
  auto impl = std::make_unique<Impl>(options, communicator);
  DLC_TRY(impl->prepare());
  return std::unique_ptr<Trainer>(new Trainer(std::move(impl)));
}

Result<TrainResult> Trainer::run() { return impl_->loop(); }

} // namespace dlc
