// SPDX-License-Identifier: Apache-2.0
// RUN/stats.jsonl.
#include "runtime/train/record/Recorder.h"
#include "runtime/train/run/JsonLines.h"

namespace dlc {
namespace {

class StatisticsLines : public Recorder {
public:
  explicit StatisticsLines(JsonLines lines) : lines_(std::move(lines)) {}

  void onStatistics(const StatisticsEvent &event) override {
    std::string text =
        fmt::format("{{\"step\": {}, \"parameters\": {{", event.step);
    for (size_t i = 0; i < event.names.size(); ++i)
      text += (i ? ", " : "") + dumpJson(Json(event.names[i])) + ": " +
              objectOf(event.values[i]);
    lines_.append(text + "}}\n");
  }

private:
  static std::string objectOf(const ParameterStatistics &s) {
    JsonLine line;
    line.add("norm", s.parameter.norm)
        .add("mean", s.parameter.mean)
        .add("std", s.parameter.deviation)
        .add("absmax", s.parameter.largest)
        .add("update_ratio", s.ratio())
        .add("gradient_norm", s.gradient.norm)
        .add("gradient_mean", s.gradient.mean)
        .add("gradient_std", s.gradient.deviation)
        .add("gradient_absmax", s.gradient.largest);
    std::string text = line.finish();
    text.pop_back(); // the newline
    return text;
  }

  JsonLines lines_;
};

} // namespace

MadeRecorder openStatistics(const Recorded &of) {
  const bool hasStatistics = !of.setup.session->statistics().names().empty();
  const std::optional<int64_t> every = of.setup.options.statsEvery;
  if (every.value_or(0) > 0 && !hasStatistics)
    return usageError("--stats-every needs a model that was compiled with "
                      "--stats");
  if (!hasStatistics || every == 0)
    return nullptr;
  DLC_ASSIGN(JsonLines lines, JsonLines::open(of.run + "/stats.jsonl", "step",
                                              of.progress.step));
  return std::make_unique<StatisticsLines>(std::move(lines));
}

} // namespace dlc
