// SPDX-License-Identifier: Apache-2.0
// Prometheus' text as a file, for the node exporter's textfile collector.
#include "runtime/train/record/PrometheusText.h"
#include "runtime/train/record/Recorder.h"

#include "runtime/base/files/Files.h"

#include <chrono>

namespace dlc {
namespace {

class PrometheusFile : public Recorder {
public:
  PrometheusFile(std::string path, const std::string &run)
      : path_(std::move(path)), text_(run) {}
  ~PrometheusFile() override { write(); }

  void onStep(const StepEvent &event) override {
    text_.onStep(event);
    if (Clock::now() - written_ >= std::chrono::seconds(1))
      write();
  }
  void onEpoch(const EpochEvent &event) override {
    text_.onEpoch(event);
    write();
  }

private:
  using Clock = std::chrono::steady_clock;

  void write() {
    written_ = Clock::now();
    warning_.check(writeFileAtomically(path_, text_.text()));
  }

  const std::string path_;
  PrometheusText text_;
  Clock::time_point written_{};
  OneWarning warning_;
};

} // namespace

std::unique_ptr<Recorder> openPrometheus(const std::string &path,
                                         const std::string &run) {
  return std::make_unique<PrometheusFile>(path, run);
}

} // namespace dlc
