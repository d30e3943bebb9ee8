// SPDX-License-Identifier: Apache-2.0
// The newest numbers for whoever asks over HTTP.
#include "runtime/train/record/MetricsServer.h"
#include "runtime/train/record/PrometheusText.h"
#include "runtime/train/record/Recorder.h"

#include "runtime/base/process/Log.h"

#include <mutex>

namespace dlc {
namespace {

// Numbers are copied under the lock and made text without it: a step never
// waits for who asks.
class MetricsPort : public Recorder {
public:
  explicit MetricsPort(const std::string &run) : numbers_(run) {}

  Status open(const TrainOptions &options) {
    DLC_ASSIGN(server_,
               MetricsServer::open(options.metricsHost,
                                   static_cast<int>(*options.metricsPort),
                                   [this] { return copy().text(); }));
    info("metrics: http://{}:{}/metrics", options.metricsHost, server_->port());
    return {};
  }

  void onStep(const StepEvent &event) override {
    const std::lock_guard lock(mutex_);
    numbers_.onStep(event);
  }
  void onEpoch(const EpochEvent &event) override {
    const std::lock_guard lock(mutex_);
    numbers_.onEpoch(event);
  }

private:
  PrometheusText copy() const {
    const std::lock_guard lock(mutex_);
    return numbers_;
  }

  mutable std::mutex mutex_;
  PrometheusText numbers_;
  std::unique_ptr<MetricsServer> server_; // last: it asks the rest
};

} // namespace

Result<std::unique_ptr<Recorder>> openMetricsPort(const TrainOptions &options,
                                                  const std::string &run) {
  auto port = std::make_unique<MetricsPort>(run);
  DLC_TRY(port->open(options).withContext("--metrics-port"));
  return std::unique_ptr<Recorder>(std::move(port));
}

} // namespace dlc
