// SPDX-License-Identifier: Apache-2.0
// RUN/epochs.jsonl.
#include "runtime/train/record/Recorder.h"
#include "runtime/train/run/JsonLines.h"

namespace dlc {
namespace {

class EpochLines : public Recorder {
public:
  explicit EpochLines(JsonLines lines) : lines_(std::move(lines)) {}

  void onValidation(const ValidationEvent &event) override {
    JsonLine line;
    line.add("epoch", event.epoch).add("step", event.step);
    for (const auto &[name, value] : event.values)
      line.add(name, value);
    lines_.append(line.finish());
  }
  void onSecond() override { lines_.follow(); }

private:
  JsonLines lines_;
};

} // namespace

MadeRecorder openEpochLines(const Recorded &of) {
  DLC_ASSIGN(JsonLines lines, JsonLines::open(of.run + "/epochs.jsonl", "step",
                                              of.progress.step));
  return std::make_unique<EpochLines>(std::move(lines));
}

} // namespace dlc
