// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/record/Recorders.h"

#include "runtime/base/process/Log.h"

#include <cmath>

namespace dlc {
namespace {

using Open = MadeRecorder (*)(const Recorded &);

// In the order in which events are delivered.
constexpr Open kAll[] = {
    openRunLines, openBar,        openCsv,      openStatistics,
    openEvents,   openPrometheus, openJsonLog,  openHookCalls,
    openProfile,  openTuning,     openMessages, openRankLines,
};
constexpr Open kProgress[] = {openBar, openJsonLog};

Result<std::vector<std::unique_ptr<Recorder>>>
openAll(const Recorded &of, std::span<const Open> rows) {
  std::vector<std::unique_ptr<Recorder>> all;
  if (!of.setup.isRoot())
    return all;
  for (const Open open : rows) {
    DLC_ASSIGN(auto recorder, open(of));
    if (recorder)
      all.push_back(std::move(recorder));
  }
  return all;
}

class HookCalls : public Recorder {
public:
  explicit HookCalls(const TrainHooks &hooks) : hooks_(hooks) {}

  void onStep(const StepEvent &event) override {
    if (hooks_.onStep)
      end_ |= !hooks_.onStep(event);
  }
  void onEpoch(const EpochEvent &event) override {
    if (hooks_.onEpoch && event.isWhole)
      end_ |= !hooks_.onEpoch(event);
  }
  bool wantsEnd() override { return std::exchange(end_, false); }

private:
  const TrainHooks &hooks_;
  bool end_ = false;
};

} // namespace

Result<Recorders> Recorders::open(const Recorded &of) {
  Recorders recorders;
  recorders.setup_ = &of.setup;
  recorders.counts_ = countsOf(of.setup.data.sets);
  DLC_ASSIGN(recorders.all_, openAll(of, kAll));
  return recorders;
}

Result<Recorders> Recorders::ofProgress(const RunSetup &setup,
                                        const Progress &progress) {
  Recorders recorders;
  recorders.setup_ = &setup;
  DLC_ASSIGN(recorders.all_, openAll({setup, {}, progress}, kProgress));
  return recorders;
}

StepEvent Recorders::eventOf(const StepReport &report) const {
  const Sampling &sampling = setup_->sampling;
  const Cursor begin = sampling.cursorAfter(report.step - 1, counts_);
  const Cursor end = sampling.cursorAfter(report.step, counts_);
  StepEvent event;
  event.step = report.step;
  event.total = setup_->total;
  event.epoch = end.epoch - (end.sample == 0);
  event.names = setup_->session->metricNames();
  event.values = report.values;
  event.samples = sampling.samplesFrom(begin, setup_->data.samples());
  event.seconds = report.seconds;
  event.samplesPerSecond = double(event.samples) / report.seconds;
  event.waited = report.waited;
  return event;
}

void Recorders::tellStep(const StepReport &report, double shareWaited) const {
  if (all_.empty())
    return;
  StepEvent event = eventOf(report);
  event.shareWaited = shareWaited;
  tell(&Recorder::onStep, event);
  const StatisticsReader &statistics = setup_->session->statistics();
  const int64_t every = setup_->options.statsEvery.value_or(10);
  if (!statistics.names().empty() && every > 0 && report.step % every == 0)
    tell(&Recorder::onStatistics,
         StatisticsEvent{report.step, statistics.names(), statistics.values()});
}

void Recorders::tellStepBeforeError(const StepReport &report) const {
  if (!all_.empty())
    tell(&Recorder::onStepBeforeError, eventOf(report));
}

bool Recorders::wantEnd() const {
  bool wanted = false;
  for (const auto &recorder : all_)
    wanted |= recorder->wantsEnd();
  return wanted;
}

double metricOf(const StepEvent &event, std::string_view name) {
  for (size_t i = 0; i < event.names.size(); ++i)
    if (event.names[i] == name)
      return event.values[i];
  return NAN;
}

void OneWarning::check(const Status &status) {
  if (!status.ok() && !said_)
    warning("{}; training continues", status.message());
  said_ |= !status.ok();
}

MadeRecorder openHookCalls(const Recorded &of) {
  return std::make_unique<HookCalls>(of.setup.hooks);
}

} // namespace dlc
