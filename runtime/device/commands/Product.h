// SPDX-License-Identifier: Apache-2.0
// Geometry of a matmul, independent of its implementation.
#pragma once

#include "runtime/device/commands/Checks.h"

namespace dlc {

// y[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n]; batch
// dimensions are aligned, 1 where broadcast.
struct Product {
  Shape batchA, batchB, batchY;
  int64_t m, n, k;
  bool transA, transB;
};

// Checks operands and attributes against each other.
Result<Product> productOf(const CommandSpec &spec, bool hasBias);

// Merges dimensions for libraries: if b is shared, the rows of all batches
// become one matrix; equal batch dimensions are merged.
void simplify(Product &product);

int64_t countOf(const Shape &shape);

// Index of the matrix of an operand with batch dimensions `batch` that is used
// for matrix `index` of y.
int64_t matrixIndex(int64_t index, const Shape &batchY, const Shape &batch);

} // namespace dlc
