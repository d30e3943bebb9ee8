// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/find/RateTest.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/plan/Types.h"
#include "runtime/train/Agree.h"
#include "runtime/train/record/Recorders.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dlc {
namespace {

constexpr double kMostRatio = 1e6; // above it the change is mostly rounding

Status checkProportional(const plan::Plan &plan) {
  for (const plan::Attribute &attribute : plan.schedule()) {
    if (!attribute.name().starts_with("optimizer"))
      continue;
    if (attribute.s().find("rmsprop_tf") != std::string::npos)
      return usageError(
          "--find-lr: the moments of rmsprop_tf hold the learning "
          "rate: compile with --optimizer=rmsprop for the test");
    if (attribute.s().find("adafactor") != std::string::npos)
      return usageError(
          "--find-lr: adafactor bounds the learning rate of update "
          "t by 1 / sqrt(t), so that its updates are not "
          "proportional to it: compile with another --optimizer "
          "for the test");
  }
  return {};
}

// The parameters before a step, and their change in it.
class Movement {
public:
  explicit Movement(Executor &executor) : executor_(executor) {}

  Status open() {
    for (const plan::State &state : executor_.plan().states()) {
      if (!state.trainable())
        continue;
      if (state.type().dtype() != plan::F32)
        return usageError("--find-lr: parameter '{}' is not f32: compile "
                          "without --amp=O3 for the test",
                          state.name());
      const size_t count = *plan::bytesOf(state.type()) / sizeof(float);
      parameters_.push_back(
          {state.name(), std::vector<float>(count), std::vector<float>(count)});
    }
    const Status read = begin();
    if (!read.ok() && executor_.hasParts())
      return usageError("--find-lr: {}: compile with --zero=2 or less for the "
                        "test",
                        read.message());
    return read;
  }

  Status begin() {
    for (Parameter &p : parameters_)
      DLC_TRY(
          executor_.readState(p.name, p.before.data(), 4 * p.before.size()));
    return {};
  }

  // Scales the change since begin() by `ratio`.
  Status stretch(double ratio) {
    for (Parameter &p : parameters_) {
      DLC_TRY(executor_.readState(p.name, p.after.data(), 4 * p.after.size()));
      if (std::memcmp(p.before.data(), p.after.data(), 4 * p.after.size()) == 0)
        continue; // frozen, or the step was skipped
      for (size_t i = 0; i < p.after.size(); ++i)
        p.after[i] = float(p.before[i] +
                           ratio * (double(p.after[i]) - double(p.before[i])));
      DLC_TRY(executor_.writeState(p.name, p.after.data(), 4 * p.after.size()));
    }
    return {};
  }

private:
  struct Parameter {
    std::string name;
    std::vector<float> before, after;
  };

  Executor &executor_;
  std::vector<Parameter> parameters_;
};

// Whether losses have risen far above their minimum.
class Divergence {
public:
  bool isReached(double loss) {
    if (!std::isfinite(loss))
      return true;
    mean_ = kKeep * mean_ + (1 - kKeep) * loss;
    weight_ = kKeep * weight_ + (1 - kKeep);
    const double running = mean_ / weight_;
    if (count_++ == 0)
      first_ = least_ = running;
    least_ = std::min(least_, running);
    const double room = std::max(std::abs(least_), first_ - least_);
    return running - least_ > 3 * room;
  }

private:
  static constexpr double kKeep = 0.8;
  double mean_ = 0, weight_ = 0, first_ = 0, least_ = 0;
  int64_t count_ = 0;
};

double rateOf(int64_t i, const RateTestOptions &test) {
  const double share = double(i) / double(test.steps - 1);
  return test.low * std::pow(test.high / test.low, share);
}

Status checkRatio(double rate, double own, int64_t step) {
  if (own > 0 && rate / own <= kMostRatio)
    return {};
  return usageError("--find-lr: the compiled learning rate of step {} is {}, "
                    "from which none can be made: compile with "
                    "--schedule=constant for the test",
                    step, own);
}

// Loads the model's initial state without a run folder. The schedule's counter
// stays at the start, so that the compiled rate is constant.
Status loadApart(RunSetup &setup) {
  constexpr int64_t kLong = 1000;
  Session &session = *setup.session;
  DLC_TRY(session.load(session.model().artifact.statePath()));
  setup.options.reschedule = true;
  setup.total *= kLong;
  const Status settled = setup.settleSchedule({});
  setup.total /= kLong;
  return settled;
}

void tellPoint(const Recorders &recorders, int64_t step, double loss,
               double rate) {
  const std::string names[] = {"loss", "lr"};
  const double values[] = {loss, rate};
  StepEvent event;
  event.step = step;
  event.names = names;
  event.values = values;
  recorders.tell(&Recorder::onStep, event);
}

// Half width of the smoothing window.
int64_t reachOf(size_t count) {
  return std::max<int64_t>(1, int64_t(count) / 20);
}

// Medians, so that single outliers do not affect the means of medians.
std::vector<double> mediansOf(std::span<const RateTestPoint> points) {
  const auto count = int64_t(points.size());
  const int64_t reach = std::max<int64_t>(1, count / 40);
  std::vector<double> result, around;
  for (int64_t i = 0; i < count; ++i) {
    around.clear();
    const int64_t room = std::min({reach, i, count - 1 - i});
    for (int64_t j = i - room; j <= i + room; ++j)
      around.push_back(points[size_t(j)].loss);
    std::nth_element(around.begin(), around.begin() + room, around.end());
    result.push_back(around[size_t(room)]);
  }
  return result;
}

std::vector<double> smoothed(std::span<const RateTestPoint> points) {
  const std::vector<double> medians = mediansOf(points);
  const auto count = int64_t(points.size());
  const int64_t reach = reachOf(points.size());
  std::vector<double> result;
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0, weights = 0;
    const int64_t room = std::min({reach, i, count - 1 - i});
    for (int64_t j = i - room; j <= i + room; ++j) {
      const auto weight = double(room + 1 - std::abs(i - j));
      sum += weight * medians[size_t(j)];
      weights += weight;
    }
    result.push_back(sum / weights);
  }
  return result;
}

// Noise of losses up to `end` (they jump after the minimum), as a standard
// deviation: 1.48 times the median absolute deviation from the smooth ones.
double noiseOf(std::span<const RateTestPoint> points,
               std::span<const double> smooth, size_t end) {
  std::vector<double> away;
  for (size_t i = 0; i < end; ++i)
    away.push_back(std::abs(points[i].loss - smooth[i]));
  const auto middle = away.begin() + std::ssize(away) / 2;
  std::nth_element(away.begin(), middle, away.end());
  return 1.48 * *middle;
}

} // namespace

Result<RateTestResult> runRateTest(const TrainOptions &given,
                                   const RateTestOptions &test,
                                   Communicator &communicator) {
  if (!(test.low < test.high))
    return usageError("--lr-min={} is not below --lr-max={}", test.low,
                      test.high);
  TrainOptions options = given;
  options.steps = test.steps;
  options.epochs = 0;
  DLC_ASSIGN(const auto setup, RunSetup::make(options, {}, communicator));
  DLC_TRY(setup->prepare());
  Progress progress;
  DLC_TRY(agree(communicator, loadApart(*setup)));
  setup->beginAt(progress);
  DLC_TRY(checkProportional(setup->session->plan()));
  if (!setup->reports("lr") || !setup->reports("loss"))
    return usageError("--find-lr needs a training program that reports its "
                      "loss and learning rate");
  Movement movement(setup->session->executor());
  DLC_TRY(agree(communicator, movement.open()));
  Steps steps(*setup, progress);
  Loader loader(setup->data.sets, setup->sampling, 0, test.steps);
  RunSignals signals;
  SignalAgreement agreement(communicator);
  Divergence divergence;
  DLC_ASSIGN(const Recorders recorders,
             Recorders::ofProgress(*setup, progress));
  RateTestResult result;
  for (int64_t i = 0; i < test.steps; ++i) {
    const double rate = rateOf(i, test);
    DLC_TRY(movement.begin());
    DLC_TRY(steps.start(loader));
    DLC_ASSIGN(const StepReport report, steps.read());
    const double loss = setup->metric(report.values, "loss");
    tellPoint(recorders, i + 1, loss, rate);
    result.points.push_back({rate, loss});
    result.diverged = divergence.isReached(loss);
    if (result.diverged)
      break;
    const double own = setup->metric(report.values, "lr");
    DLC_TRY(checkRatio(rate, own, i + 1));
    DLC_TRY(movement.stretch(rate / own));
    DLC_ASSIGN(const SignalRequest asked, agreement.ask(signals.take(), i + 1));
    result.signal = asked.stop;
    if (asked.stop)
      break;
  }
  return result;
}

RateSuggestion suggestRate(std::span<const RateTestPoint> points) {
  RateSuggestion found;
  found.smooth = smoothed(points);
  const auto &loss = found.smooth;
  const auto least = size_t(std::ranges::min_element(loss) - loss.begin());
  // Means of few points at the ends are noisy.
  const auto first = size_t(reachOf(loss.size()));
  if (loss.size() < 3 || least <= first ||
      loss[first] - loss[least] <= noiseOf(points, loss, least))
    return found;
  double fastest = 0;
  for (size_t i = first; i + 1 < loss.size() && i <= least; ++i) {
    const double slope = (loss[i + 1] - loss[i - 1]) /
                         std::log(points[i + 1].lr / points[i - 1].lr);
    if (slope < fastest)
      fastest = slope, found.steepest = points[i].lr;
  }
  if (found.steepest)
    found.tenth = points[least].lr / 10;
  return found;
}

Status writeRateTest(const std::string &folder, const RateTestResult &result) {
  std::span<const RateTestPoint> points = result.points;
  if (result.diverged)
    points = points.first(points.size() - 1);
  const RateSuggestion found = suggestRate(points);
  std::string csv = "lr,loss,smoothed\n";
  for (size_t i = 0; i < points.size(); ++i)
    csv += fmt::format("{},{},{}\n", points[i].lr, points[i].loss,
                       found.smooth[i]);
  DLC_TRY(makeFolder(folder));
  return writeFileAtomically(folder + "/find-lr.csv", csv);
}

void RateTestOptions::addTo(OptionTable &table) {
  table.group("Learning rate");
  table
      .toggle("run.find-lr", asked,
              "learning-rate range test in place of training, which raises lr "
              "at each step and prints a suggested lr")
      .flagOnly();
  table.number("run.lr-min", low, kAboveZero, kNoLimit, "lr of the first step")
      .only("run.find-lr", {"true"})
      .flagOnly();
  table.number("run.lr-max", high, kAboveZero, kNoLimit, "lr of the last step")
      .only("run.find-lr", {"true"})
      .flagOnly();
  table.count("run.lr-steps", steps, 10, "number of steps of the test", 1000000)
      .only("run.find-lr", {"true"})
      .flagOnly();
}

} // namespace dlc
