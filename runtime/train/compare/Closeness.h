// SPDX-License-Identifier: Apache-2.0
// How far two tensors that should be one are apart.
#pragma once

#include "runtime/plan/plan.pb.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace dlc {

// A tensor's elements in f64, its dimensions in an order of their own.
struct WideTensor {
  std::vector<int64_t> shape;
  std::vector<double> values;
};
// Of any type, bools as 0 and 1.
WideTensor widen(const plan::TensorType &type, const std::byte *data);

// The shape in which `to` has what `from` has: which axis of `from` is axis i
// of `to`. The same axes, channels moved to the end or back, or a matrix
// transposed, whichever brings the values nearest.
struct Closeness {
  std::vector<int> axes;
  double error = 0;    // |b - a| / |a|, Euclidean; of zeros |b|
  size_t worst = 0;    // element of b whose difference is largest
  double a = 0, b = 0; // there
};
// Elements that are NaN or the same infinity in both count as equal; where one
// alone is so the error is infinite. None: no such order of a has b's shape.
std::optional<Closeness> compareTensors(const WideTensor &a,
                                        const WideTensor &b);

// Closeness::error but for so large a share of the elements, those that differ
// most; of the same shape.
double trimmedError(const WideTensor &a, const WideTensor &b, double share);

WideTensor scaled(WideTensor tensor, double factor);

// `a` with its axes in this order.
WideTensor permute(const WideTensor &a, std::span<const int> axes);

// Where an element of a row-major tensor is.
std::vector<int64_t> positionOf(size_t element,
                                const std::vector<int64_t> &shape);

// Root of the mean square of the finite elements.
double rootMeanSquare(const WideTensor &tensor);
// Of them from their mean.
double standardDeviation(const WideTensor &tensor);

} // namespace dlc
