// Prometheus' text, for the node exporter's textfile collector.
#include "runtime/train/record/Recorder.h"

#include "runtime/base/files/Files.h"

#include <chrono>
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

class Prometheus : public Recorder {
public:
  Prometheus(std::string path, const std::string &run)
      : path_(std::move(path)), run_(labelText(run)) {}
  ~Prometheus() override { write(); }

  void onStep(const StepEvent &event) override {
    step_ = event.step, total_ = event.total, epoch_ = event.epoch;
    rate_ = event.samplesPerSecond;
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

  void write() {
    written_ = Clock::now();
    std::string text;
    const auto family = [&](const char *name, const char *help,
                            const char *label, const Values &values) {
      text +=
          fmt::format("# HELP dlc_{0} {1}\n# TYPE dlc_{0} gauge\n", name, help);
      for (const auto &[key, value] : values)
        text += fmt::format(
            "dlc_{}{{run=\"{}\"{}}} {}\n", name, run_,
            key.empty() ? "" : fmt::format(",{}=\"{}\"", label, labelText(key)),
            prometheusNumber(value));
    };
    family("step", "steps done", "", {{"", double(step_)}});
    family("steps", "steps of the run", "", {{"", double(total_)}});
    family("epoch", "epochs begun, from 0", "", {{"", double(epoch_)}});
    family("samples_per_second", "of the last step", "", {{"", rate_}});
    family("train", "what the last step reported", "metric", values_);
    family("validation", "what the last validation found", "metric",
           validation_);
    warning_.check(writeFileAtomically(path_, text));
  }

  const std::string path_, run_;
  int64_t step_ = 0, total_ = 0, epoch_ = 0;
  double rate_ = 0;
  Values values_, validation_;
  Clock::time_point written_{};
  OneWarning warning_;
};

} // namespace

std::unique_ptr<Recorder> openPrometheus(const std::string &path,
                                         const std::string &run) {
  return std::make_unique<Prometheus>(path, run);
}

} // namespace dlc
