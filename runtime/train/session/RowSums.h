// SPDX-License-Identifier: Apache-2.0
// Sums over the rows that an evaluation program outputs.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/TensorView.h"
#include "runtime/plan/Ports.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dlc {

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
