// SPDX-License-Identifier: Apache-2.0
// The rows that an evaluation program puts out, as sums.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/exec/TensorView.h"
#include "runtime/plan/Ports.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace dlc {

// A mean before it is divided.
struct Ratio {
  double sum = 0, weight = 0;
};

// Outputs of eval_step whose rows have one mean: row_loss over row_weight, and
// so row_loss.NAME of one of several losses, whose sum is the loss; row_correct
// over row_counted. Without the weights each row counts 1.
struct RowPorts {
  std::string name;
  int rows = -1, weights = -1; // of the program's outputs

  // The first `samples` of a batch's; one number alone is of the batch as a
  // whole, and counts for each of them. Code::Corrupt.
  Result<Ratio> add(std::span<const TensorView> outputs, int64_t samples,
                    int64_t batch) const;
};

// The losses, then the hits, if there are some.
struct EvalPorts {
  std::vector<RowPorts> all;
  bool hasHits = false;
};
EvalPorts evalPorts(const plan::Program &program);

} // namespace dlc
