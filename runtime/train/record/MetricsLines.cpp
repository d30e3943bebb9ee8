// SPDX-License-Identifier: Apache-2.0
// RUN/metrics.jsonl.
#include "runtime/train/record/Recorder.h"
#include "runtime/train/run/JsonLines.h"

namespace dlc {
namespace {

class MetricsLines : public Recorder {
public:
  explicit MetricsLines(JsonLines lines) : lines_(std::move(lines)) {}

  void onStep(const StepEvent &event) override {
    line_.clear();
    line_.add("step", event.step);
    for (size_t i = 0; i < event.values.size(); ++i)
      line_.add(event.names[i], event.values[i]);
    line_.add("samples_per_second", event.samplesPerSecond);
    line_.add("data_wait", event.waited);
    lines_.append(line_.finish());
  }
  void onStepBeforeError(const StepEvent &event) override { onStep(event); }
  void onSecond() override { lines_.follow(); }

private:
  JsonLines lines_;
  JsonLine line_;
};

} // namespace

MadeRecorder openMetricsLines(const Recorded &of) {
  DLC_ASSIGN(JsonLines lines, JsonLines::open(of.run + "/metrics.jsonl", "step",
                                              of.progress.step));
  return std::make_unique<MetricsLines>(std::move(lines));
}

} // namespace dlc
