// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/record/PrometheusText.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dlc {
namespace {

// Of a label: \, " and line ends escaped.
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

} // namespace

void PrometheusText::onStep(const StepEvent &event) {
  step_ = event.step, total_ = event.total, epoch_ = event.epoch;
  rate_ = event.samplesPerSecond;
  samples_ += event.samples;
  seconds_ += event.seconds;
  ++buckets_[static_cast<size_t>(
      std::lower_bound(kBounds.begin(), kBounds.end(), event.seconds) -
      kBounds.begin())];
  values_.clear();
  for (size_t i = 0; i < event.names.size(); ++i)
    values_.emplace_back(event.names[i], event.values[i]);
}

void PrometheusText::onEpoch(const EpochEvent &event) {
  validation_ = event.values;
}

std::string PrometheusText::text() const {
  std::string text;
  const std::string run = labelText(run_);
  const auto head = [&](const char *name, const char *type, const char *help) {
    text += fmt::format("# HELP dlc_{0} {1}\n# TYPE dlc_{0} {2}\n", name, help,
                        type);
  };
  const auto line = [&](std::string_view name, std::string_view label,
                        std::string_view key, double value) {
    text += fmt::format(
        "dlc_{}{{run=\"{}\"{}}} {}\n", name, run,
        label.empty() ? "" : fmt::format(",{}=\"{}\"", label, labelText(key)),
        prometheusNumber(value));
  };
  const auto number = [&](const char *name, const char *type, const char *help,
                          double value) {
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

} // namespace dlc
