// SPDX-License-Identifier: Apache-2.0
// RUN/metrics.jsonl, epochs.jsonl, classes.json, stats.jsonl, ranks.jsonl and
// tuning.json.
#include "runtime/train/record/Recorder.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "runtime/device/TuneChoices.h"
#include "runtime/train/run/JsonLines.h"

namespace dlc {
namespace {

Result<JsonLines> linesOf(const Recorded &of, const char *name) {
  return JsonLines::open(of.run + name, "step", of.progress.step);
}

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

class RankLines : public Recorder {
public:
  RankLines(JsonLines lines, bool isQuiet)
      : lines_(std::move(lines)), isQuiet_(isQuiet) {}

  void onRanks(const RanksEvent &event) override {
    Json line = {{"step", event.step}, {"slow", event.slow.text}};
    for (const RankTime &rank : event.ranks) {
      line["hosts"].push_back(rank.host);
      line["seconds"].push_back(rank.step);
      line["data_wait"].push_back(rank.waited);
      line["computes"].push_back(rank.computed);
      line["blocked"].push_back(rank.blocked);
    }
    lines_.append(dumpJson(line) + "\n");
    const bool isSame = event.slow.rank == slow_.rank &&
                        event.slow.isWaiting == slow_.isWaiting;
    slow_ = event.slow;
    if (isSame || isQuiet_)
      return;
    if (slow_.rank >= 0)
      info("step {}: {}", event.step, slow_.text);
    else
      info("step {}: the ranks wait for none of them any more", event.step);
  }
  void onSecond() override { lines_.follow(); }

private:
  JsonLines lines_;
  const bool isQuiet_;
  SlowRank slow_; // in the last message
};

// Failure to write is not an error.
class Tuning : public Recorder {
public:
  Tuning(const TuneChoices &choices, std::string path)
      : choices_(choices), path_(std::move(path)) {}

  void onStart(const Progress &) override { write(); }
  void onEnd(const EndEvent &) override { write(); } // also of validations

private:
  void write() const {
    if (choices_.isEmpty())
      return;
    warnOf(writeFileAtomically(path_, dumpJson(choices_.describe(), 1) + "\n"));
  }

  const TuneChoices &choices_;
  const std::string path_;
};

} // namespace

MadeRecorder openRunLines(const Recorded &of) {
  DLC_ASSIGN(JsonLines metrics, linesOf(of, "/metrics.jsonl"));
  DLC_ASSIGN(JsonLines epochs, linesOf(of, "/epochs.jsonl"));
  return std::make_unique<RunLines>(std::move(metrics), std::move(epochs),
                                    of.run + "/classes.json");
}

MadeRecorder openStatistics(const Recorded &of) {
  const bool hasStatistics = !of.setup.session->statistics().names().empty();
  const std::optional<int64_t> every = of.setup.options.statsEvery;
  if (every.value_or(0) > 0 && !hasStatistics)
    return usageError("--stats-every needs a model that was compiled with "
                      "--stats");
  if (!hasStatistics || every == 0)
    return nullptr;
  DLC_ASSIGN(JsonLines lines, linesOf(of, "/stats.jsonl"));
  return std::make_unique<StatisticsLines>(std::move(lines));
}

MadeRecorder openRankLines(const Recorded &of) {
  if (of.setup.ranks.size() == 1)
    return nullptr;
  DLC_ASSIGN(JsonLines lines, linesOf(of, "/ranks.jsonl"));
  return std::make_unique<RankLines>(std::move(lines), of.setup.options.quiet);
}

MadeRecorder openTuning(const Recorded &of) {
  return std::make_unique<Tuning>(*of.setup.options.tune.choices,
                                  of.run + "/tuning.json");
}

} // namespace dlc
