// SPDX-License-Identifier: Apache-2.0
// RUN/metrics.jsonl and RUN/epochs.jsonl.
#include "runtime/train/record/Recorder.h"
#include "runtime/train/run/JsonLines.h"

namespace dlc {
namespace {

class RunLines : public Recorder {
public:
  RunLines(JsonLines metrics, JsonLines epochs)
      : metrics_(std::move(metrics)), epochs_(std::move(epochs)) {}

  void onStep(const StepEvent &event) override {
    line_.clear();
    line_.add("step", event.step);
    for (size_t i = 0; i < event.values.size(); ++i)
      line_.add(event.names[i], event.values[i]);
    line_.add("samples_per_second", event.samplesPerSecond);
    line_.add("data_wait", event.waited);
    metrics_.append(line_.finish());
  }
  void onStepBeforeError(const StepEvent &event) override { onStep(event); }

  void onValidation(const ValidationEvent &event) override {
    line_.clear();
    line_.add("epoch", event.epoch).add("step", event.step);
    for (const auto &[name, value] : event.values)
      line_.add(name, value);
    epochs_.append(line_.finish());
  }

  void onSecond() override {
    metrics_.follow();
    epochs_.follow();
  }

private:
  JsonLines metrics_, epochs_;
  JsonLine line_;
};

} // namespace

MadeRecorder openRunLines(const Recorded &of) {
  const auto open = [&](const char *name) {
    return JsonLines::open(of.run + name, "step", of.progress.step);
  };
  DLC_ASSIGN(JsonLines metrics, open("/metrics.jsonl"));
  DLC_ASSIGN(JsonLines epochs, open("/epochs.jsonl"));
  return std::make_unique<RunLines>(std::move(metrics), std::move(epochs));
}

} // namespace dlc
