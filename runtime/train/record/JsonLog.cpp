// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Text.h"
#include "runtime/train/record/StepPace.h"

#include "runtime/base/process/Log.h"

#include <cmath>

namespace dlc {
namespace {

using namespace std::chrono_literals;

std::string finiteOr(const char *format, double value) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value)
                              : "null";
}

class JsonLog : public Recorder {
public:
  explicit JsonLog(const Recorded &of)
      : pace_(of, 2000ms), isQuiet_(of.setup.options.quiet) {}

  void onStart(const Progress &) override { pace_.start(); }

  void onStep(const StepEvent &event) override {
    if (isQuiet_ || !pace_.reaches(event.step))
      return;
    const auto number = [](double value) { return finiteOr("{:.6g}", value); };
    logObject(fmt::format(
        "\"event\": \"progress\", \"step\": {}, \"steps\": {}, \"loss\": {}, "
        "\"lr\": {}, \"steps_per_second\": {}, \"samples_per_second\": {}, "
        "\"seconds_left\": {}, \"data_wait\": {}, \"memory_bytes\": {}",
        pace_.step(), pace_.total(), number(metricOf(event, "loss")),
        number(metricOf(event, "lr")), number(pace_.stepsPerSecond()),
        number(pace_.samplesPerSecond()), number(pace_.secondsLeft()),
        number(event.shareWaited), bytesOfProcess()));
  }

  void onPause() override { pace_.pause(); }
  void onValidation(const ValidationEvent &) override { pace_.resume(); }

  void onEpoch(const EpochEvent &event) override {
    const std::string values = joined(event.values, ", ", [](auto &value) {
      return fmt::format("\"{}\": {}", value.first,
                         finiteOr("{}", value.second));
    });
    logObject(fmt::format(
        "\"event\": \"epoch\", \"epoch\": {}, \"step\": {}, \"values\": {{{}}}",
        event.epoch, event.step, values));
  }

private:
  StepPace pace_;
  const bool isQuiet_;
};

} // namespace

MadeRecorder openJsonLog(const Recorded &of) {
  if (!logsJson())
    return nullptr;
  return std::make_unique<JsonLog>(of);
}

} // namespace dlc
