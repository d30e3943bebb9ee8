// SPDX-License-Identifier: Apache-2.0
// Statistics of each parameter that steps report if compiled with --stats, and
// sums over the rows that an evaluation program outputs.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/TensorView.h"

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

// A mean as numerator and denominator.
struct Ratio {
  double sum = 0, weight = 0;
};

// Outputs of eval_step that form a mean over rows: row_loss / row_weight,
// row_loss.NAME of one of several losses, whose sum is the loss, and
// row_correct / row_counted. Without the weights each row has weight 1.
struct RowPorts {
  std::string name;
  int rows = -1, weights = -1; // outputs of the program

  // Sums over the first `samples` of a batch; a scalar applies to the whole
  // batch and is multiplied by the number of samples. Code::Corrupt.
  Result<Ratio> add(std::span<const TensorView> outputs, int64_t samples,
                    int64_t batch) const;
};

// The losses, then the hits, if any.
struct EvalPorts {
  std::vector<RowPorts> all;
  bool hasHits = false;
};
EvalPorts evalPorts(const plan::Program &program);

} // namespace dlc
