// SPDX-License-Identifier: Apache-2.0
// The newest numbers of a run in Prometheus' text format.
#pragma once

#include "runtime/train/Hooks.h"

#include <array>

namespace dlc {

class PrometheusText {
public:
  explicit PrometheusText(std::string run) : run_(std::move(run)) {}

  void onStep(const StepEvent &event);
  void onEpoch(const EpochEvent &event);

  // dlc_step, dlc_steps, dlc_epoch, dlc_samples_per_second, dlc_train{metric},
  // dlc_validation{metric}, dlc_loss_scale of models that have one, and since
  // this process began dlc_samples_total and dlc_step_seconds, a histogram. All
  // have the label run.
  std::string text() const;

private:
  using Values = std::vector<std::pair<std::string, double>>;

  // Upper bounds; the last bucket has none.
  static constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025,
                                         0.05,  0.1,    0.25,  0.5,  1.0,
                                         2.5,   5.0,    10.0,  30.0, 60.0};

  std::string run_;
  int64_t step_ = 0, total_ = 0, epoch_ = 0, samples_ = 0;
  double rate_ = 0;
  Values values_, validation_;
  std::array<int64_t, kBounds.size() + 1> buckets_{}; // of one each
  double seconds_ = 0;
};

} // namespace dlc
