// SPDX-License-Identifier: Apache-2.0
// What a step of a model compiled with --stats reports of each parameter.
#pragma once

#include "runtime/exec/TensorView.h"
#include "runtime/plan/plan.pb.h"

#include <span>
#include <string>
#include <vector>

namespace dlc {

// Over all elements of a tensor.
struct TensorStatistics {
  float norm, mean, deviation, largest; // the last: of absolute values
};

struct ParameterStatistics {
  TensorStatistics parameter; // after the step
  float moved;                // norm of what the step added to it
  TensorStatistics gradient;  // mean over ranks, unscaled, before clipping

  // ||change|| / ||parameter||, as the step leaves it; 0 where nothing moves.
  double ratio() const {
    return moved == 0 ? 0 : double(moved) / double(parameter.norm);
  }
};

// Whether an output of a step is not a scalar metric but these.
bool isStatistics(std::string_view output);

// Reads them from what a step puts out.
class StatisticsReader {
public:
  // Of train_step. Code::Corrupt if its outputs do not fit its parameters.
  static Result<StatisticsReader> create(const plan::Plan &plan,
                                         const plan::Program &step);

  // By parameter, those that train in the plan's order; none without --stats.
  const std::vector<std::string> &names() const { return names_; }
  void read(std::span<const TensorView> outputs);
  std::span<const ParameterStatistics> values() const { return values_; }

private:
  std::vector<std::string> names_;
  std::vector<ParameterStatistics> values_;
  size_t parameters_ = 0, gradients_ = 0; // of outputs
};

} // namespace dlc
