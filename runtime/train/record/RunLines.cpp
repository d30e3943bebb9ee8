// SPDX-License-Identifier: Apache-2.0
// RUN/metrics.jsonl, RUN/epochs.jsonl and RUN/classes.json.
#include "runtime/train/record/Recorder.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "runtime/train/run/JsonLines.h"

namespace dlc {
namespace {

class RunLines : public Recorder {
public:
  RunLines(JsonLines metrics, JsonLines epochs, std::string classes)
      : metrics_(std::move(metrics)), epochs_(std::move(epochs)),
        classes_(std::move(classes)) {}

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
    const std::string classes =
        event.judgement ? classesJson(*event.judgement, event.epoch, event.step)
                        : "";
    if (!classes.empty()) // rewritten each time, so failure is not an error
      warnOf(writeFileAtomically(classes_, classes + "\n"));
  }

  void onSecond() override {
    metrics_.follow();
    epochs_.follow();
  }

private:
  JsonLines metrics_, epochs_;
  const std::string classes_; // path
  JsonLine line_;
};

} // namespace

MadeRecorder openRunLines(const Recorded &of) {
  const auto open = [&](const char *name) {
    return JsonLines::open(of.run + name, "step", of.progress.step);
  };
  DLC_ASSIGN(JsonLines metrics, open("/metrics.jsonl"));
  DLC_ASSIGN(JsonLines epochs, open("/epochs.jsonl"));
  return std::make_unique<RunLines>(std::move(metrics), std::move(epochs),
                                    of.run + "/classes.json");
}

} // namespace dlc
