// SPDX-License-Identifier: Apache-2.0
// The rows of a loss that the graph computes.
#pragma once

#include "compiler/dialect/Expr.h"
#include <optional>

namespace dlc {

/// factor * sum(rows) / sum(weights), each over a batch; without weights
/// factor * mean(rows). Rows of one element that no input changes are of no
/// sample.
struct LossMean {
  mlir::Value rows, weights{};
  double factor = 1;
  /// In the graph: the division by the sum of the weights; null if there is
  /// none.
  mlir::Operation *division = nullptr;
};
using LossMeans = llvm::SmallVector<LossMean, 1>;

/// The means whose sum the scalar `loss` is, of a batch of `samples`; nothing
/// if it is no such sum, as a root or a maximum of means. A division counts if
/// what it divides by is a sum that no trained state changes, also where a
/// small constant keeps that from 0.
std::optional<LossMeans> meansOf(mlir::Value loss, int64_t samples);

} // namespace dlc
