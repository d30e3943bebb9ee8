// SPDX-License-Identifier: Apache-2.0
// Statistics of each parameter that steps report if compiled with --stats.
#pragma once

#include "runtime/exec/TensorView.h"
#include "runtime/plan/plan.pb.h"

#include <span>
#include <string>
#include <vector>

namespace dlc {

// Over all elements of a tensor.
struct TensorStatistics {
  float norm, mean, deviation, largest; // largest: of absolute values
};

struct ParameterStatistics {
  TensorStatistics parameter; // after the step
  float moved;                // norm of the step's change
  TensorStatistics gradient;  // mean over ranks, unscaled, before clipping

  // change|| / ||parameter after the step||; 0 if nothing changes.
  double ratio() const {
    return moved == 0 ? 0 : double(moved) / double(parameter.norm);
  }
};

// Whether an output of a step has these statistics rather than a scalar metric.
bool isStatistics(std::string_view output);

// Reads the statistics from a step's outputs.
class StatisticsReader {
public:
  // For train_step. Code::Corrupt if its outputs do not fit its parameters.
  static Result<StatisticsReader> create(const plan::Plan &plan,
                                         const plan::Program &step);

  // Names of trained parameters in the plan's order; empty without --stats.
  const std::vector<std::string> &names() const { return names_; }
  void read(std::span<const TensorView> outputs);
  std::span<const ParameterStatistics> values() const { return values_; }

private:
  std::vector<std::string> names_;
  std::vector<ParameterStatistics> values_;
  size_t parameters_ = 0, gradients_ = 0; // index of the output
};

} // namespace dlc
