// SPDX-License-Identifier: Apache-2.0
// Measures the difference of two tensors that should be equal.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace dlc {

// A tensor's elements in f64; its dimensions may be permuted.
struct WideTensor {
  std::vector<int64_t> shape;
  std::vector<double> values;
};
// Converts a tensor of any type; bools become 0 and 1.
WideTensor widen(const plan::TensorType &type, const std::byte *data);

// The permutation of `from`'s axes that makes it closest to `to`: axis i of
// `to` is which axis of `from`. Candidates: identity, channels moved to the end
// or back, transposed matrix.
struct Closeness {
  std::vector<int> axes;
  double error = 0;    // |b - a| / |a|, Euclidean; |b| if a is zero
  size_t worst = 0;    // element of b with the largest difference
  double a = 0, b = 0; // values of that element
};
// NaN in both, or the same infinity in both, is equal; in only one of them the
// error is infinite. nullopt if no candidate permutation of a has b's shape.
std::optional<Closeness> compareTensors(const WideTensor &a,
                                        const WideTensor &b);

// Closeness::error without the given share of elements, those that differ most;
// for equal shapes.
double trimmedError(const WideTensor &a, const WideTensor &b, double share);

WideTensor scaled(WideTensor tensor, double factor);

// Transposes `a` to this order of axes.
WideTensor permute(const WideTensor &a, std::span<const int> axes);

// Index of an element of a row-major tensor.
std::vector<int64_t> positionOf(size_t element,
                                const std::vector<int64_t> &shape);

// Root mean square of the finite elements.
double rootMeanSquare(const WideTensor &tensor);
// Standard deviation of the finite elements.
double standardDeviation(const WideTensor &tensor);

} // namespace dlc
