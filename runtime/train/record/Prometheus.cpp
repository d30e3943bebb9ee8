// SPDX-License-Identifier: Apache-2.0
// Prometheus' text as a file, for the node exporter's textfile collector.
#include "runtime/train/record/Recorder.h"

#include "runtime/base/files/Files.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace dlc {
namespace {

// Escapes \, " and newlines in a label.
std::string labelText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"')
      escaped += '\\';
    escaped += c == '\n' ? "\\n" : std::string(1, c);
  }
  return escaped;
}

std::string prometheusNumber(double x) {
  return std::isnan(x)   ? "NaN"
         : std::isinf(x) ? (x > 0 ? "+Inf" : "-Inf")
                         : fmt::format("{}", x);
}

// Metrics: dlc_step, dlc_steps, dlc_epoch, dlc_samples_per_second,
// dlc_train{metric}, dlc_validation{metric}, dlc_loss_scale if the model has
// one, and since the start of this process dlc_samples_total and
// dlc_step_seconds, a histogram. All have the label run.
class Prometheus : public Recorder {
public:
  Prometheus(std::string path, std::string run)
      : path_(std::move(path)), run_(std::move(run)) {}
  ~Prometheus() override { write(); }

  void onStep(const StepEvent &event) override {
    step_ = event.step, total_ = event.total, epoch_ = event.epoch;
    rate_ = event.samplesPerSecond;
    samples_ += event.samples;
    seconds_ += event.seconds;
    ++buckets_[size_t(std::ranges::lower_bound(kBounds, event.seconds) -
                      kBounds.begin())];
    values_.clear();
    for (size_t i = 0; i < event.names.size(); ++i)
      values_.emplace_back(event.names[i], event.values[i]);
    if (Clock::now() - written_ >= std::chrono::seconds(1))
      write();
  }
  void onEpoch(const EpochEvent &event) override {
    validation_ = event.values;
    write();
  }

private:
  using Clock = std::chrono::steady_clock;
  using Values = std::vector<std::pair<std::string, double>>;

  // Upper bounds; the last bucket is unbounded.
  static constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025,
                                         0.05,  0.1,    0.25,  0.5,  1.0,
                                         2.5,   5.0,    10.0,  30.0, 60.0};

  void write() {
    written_ = Clock::now();
    warning_.check(writeFileAtomically(path_, text()));
  }

  std::string text() const {
    std::string text;
    const std::string run = labelText(run_);
    const auto head = [&](const char *name, const char *type,
                          const char *help) {
      text += fmt::format("# HELP dlc_{0} {1}\n# TYPE dlc_{0} {2}\n", name,
                          help, type);
    };
    const auto line = [&](std::string_view name, std::string_view label,
                          std::string_view key, double value) {
      text += fmt::format(
          "dlc_{}{{run=\"{}\"{}}} {}\n", name, run,
          label.empty() ? "" : fmt::format(",{}=\"{}\"", label, labelText(key)),
          prometheusNumber(value));
    };
    const auto number = [&](const char *name, const char *type,
                            const char *help, double value) {
      head(name, type, help);
      line(name, "", "", value);
    };
    const auto family = [&](const char *name, const char *help,
                            const Values &values) {
      head(name, "gauge", help);
      for (const auto &[key, value] : values)
        line(name, "metric", key, value);
    };
    number("step", "gauge", "steps done", double(step_));
    number("steps", "gauge", "steps of the run", double(total_));
    number("epoch", "gauge", "epochs begun, from 0", double(epoch_));
    number("samples_per_second", "gauge", "of the last step", rate_);
    number("samples_total", "counter", "samples of all ranks since the start",
           double(samples_));
    for (const auto &[key, value] : values_)
      if (key == "loss_scale")
        number("loss_scale", "gauge", "of the last step", value);
    family("train", "what the last step reported", values_);
    family("validation", "what the last validation found", validation_);
    head("step_seconds", "histogram", "of steps since the start");
    int64_t below = 0;
    for (size_t i = 0; i < buckets_.size(); ++i) {
      below += buckets_[i];
      line("step_seconds_bucket", "le",
           i < kBounds.size() ? fmt::format("{}", kBounds[i]) : "+Inf",
           double(below));
    }
    line("step_seconds_sum", "", "", seconds_);
    line("step_seconds_count", "", "", double(below));
    return text;
  }

  const std::string path_, run_;
  int64_t step_ = 0, total_ = 0, epoch_ = 0, samples_ = 0;
  double rate_ = 0;
  Values values_, validation_;
  std::array<int64_t, kBounds.size() + 1> buckets_{}; // not cumulative
  double seconds_ = 0;
  Clock::time_point written_{};
  OneWarning warning_;
};

} // namespace

MadeRecorder openPrometheus(const Recorded &of) {
  if (of.setup.options.prometheus.empty())
    return nullptr;
  return std::make_unique<Prometheus>(of.setup.options.prometheus, of.run);
}

} // namespace dlc
