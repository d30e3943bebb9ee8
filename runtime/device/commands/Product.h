// SPDX-License-Identifier: Apache-2.0
// Geometry of a matmul, for any implementation.
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

// Merges dimensions for a library: the rows of all batches form one matrix
// where b is shared; equal batches become one dimension.
void simplify(Product &product);

int64_t countOf(const Shape &shape);

// The matrix of an operand with these batch dimensions that batch `index` of y
// uses.
int64_t matrixIndex(int64_t index, const Shape &batchY, const Shape &batch);

} // namespace dlc
