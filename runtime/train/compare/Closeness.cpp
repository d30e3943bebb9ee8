// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/compare/Closeness.h"

#include "runtime/data/Convert.h"
#include "runtime/plan/Types.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace dlc {
namespace {

// Permutations that different devices or layouts may use.
std::vector<std::vector<int>> likelyOrders(int rank) {
  std::vector<int> same(static_cast<size_t>(rank));
  std::iota(same.begin(), same.end(), 0);
  std::vector<std::vector<int>> orders{same};
  if (rank == 2)
    orders.push_back({1, 0});
  if (rank < 3)
    return orders;
  std::vector<int> last = same, second = same;
  std::rotate(last.begin() + 1, last.begin() + 2, last.end());
  std::rotate(second.begin() + 1, second.end() - 1, second.end());
  orders.push_back(last);   // [N, C, ...] to [N, ..., C]
  orders.push_back(second); // and back
  return orders;
}

bool fits(const WideTensor &a, const WideTensor &b,
          const std::vector<int> &axes) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (a.shape[size_t(axes[i])] != b.shape[i])
      return false;
  return true;
}

Closeness compareInOrder(const WideTensor &a, const WideTensor &b) {
  Closeness result;
  double apart = 0, size = 0, most = -1;
  for (size_t i = 0; i < a.values.size(); ++i) {
    const double x = a.values[i], y = b.values[i];
    double difference = std::abs(y - x);
    if (x == y || (std::isnan(x) && std::isnan(y)))
      difference = 0;
    else if (!std::isfinite(x) || !std::isfinite(y))
      difference = std::numeric_limits<double>::infinity();
    apart += difference * difference;
    size += std::isfinite(x) ? x * x : 0;
    if (difference > most) {
      most = difference;
      result.worst = i;
      result.a = x;
      result.b = y;
    }
  }
  result.error = std::sqrt(apart) / (size > 0 ? std::sqrt(size) : 1);
  return result;
}

} // namespace

WideTensor widen(const plan::TensorType &type, const std::byte *data) {
  WideTensor wide{{type.shape().begin(), type.shape().end()}, {}};
  const DType from = plan::dtypeOf(type.dtype()).value_or(DType::U8);
  const uint64_t count = checkedElements(type.shape()).value_or(0);
  wide.values.resize(count);
  auto *to = reinterpret_cast<std::byte *>(wide.values.data());
  if (from == DType::F64)
    std::copy_n(data, count * sizeof(double), to);
  else
    converter(from, DType::F64, false)(data, to, count, 1);
  return wide;
}

double trimmedError(const WideTensor &a, const WideTensor &b, double share) {
  struct Apart {
    double difference, size;
  };
  std::vector<Apart> all(a.values.size());
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = {std::abs(a.values[i] - b.values[i]), std::abs(a.values[i])};
  const auto kept = size_t(std::ceil(double(all.size()) * (1 - share)));
  std::nth_element(all.begin(), all.begin() + static_cast<ptrdiff_t>(kept),
                   all.end(), [](const Apart &x, const Apart &y) {
                     return x.difference < y.difference;
                   });
  double apart = 0, size = 0;
  for (size_t i = 0; i < kept; ++i) {
    apart += all[i].difference * all[i].difference;
    size += all[i].size * all[i].size;
  }
  return std::sqrt(apart) / (size > 0 ? std::sqrt(size) : 1);
}

WideTensor permute(const WideTensor &a, std::span<const int> axes) {
  if (std::ranges::is_sorted(axes))
    return a;
  const size_t rank = a.shape.size();
  std::vector<size_t> strides(rank, 1);
  for (size_t i = rank; i-- > 1;)
    strides[i - 1] = strides[i] * size_t(a.shape[i]);
  WideTensor b;
  std::vector<size_t> steps;
  for (int axis : axes) {
    b.shape.push_back(a.shape[size_t(axis)]);
    steps.push_back(strides[size_t(axis)]);
  }
  b.values.resize(a.values.size());
  std::vector<int64_t> at(rank, 0);
  size_t from = 0;
  for (double &value : b.values) {
    value = a.values[from];
    for (size_t i = rank; i-- > 0;) {
      from += steps[i];
      if (++at[i] < b.shape[i])
        break;
      from -= steps[i] * size_t(b.shape[i]);
      at[i] = 0;
    }
  }
  return b;
}

std::optional<Closeness> compareTensors(const WideTensor &a,
                                        const WideTensor &b) {
  if (a.shape.size() != b.shape.size())
    return std::nullopt;
  std::optional<Closeness> best;
  for (const std::vector<int> &axes : likelyOrders(int(a.shape.size()))) {
    if (!fits(a, b, axes))
      continue;
    Closeness one = compareInOrder(permute(a, axes), b);
    one.axes = axes;
    if (!best || one.error < best->error)
      best = one;
  }
  return best;
}

WideTensor scaled(WideTensor tensor, double factor) {
  for (double &x : tensor.values)
    x *= factor;
  return tensor;
}

std::vector<int64_t> positionOf(size_t element,
                                const std::vector<int64_t> &shape) {
  std::vector<int64_t> at(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    at[i] = int64_t(element % size_t(shape[i]));
    element /= size_t(shape[i]);
  }
  return at;
}

namespace {

// Root mean square deviation from `center`, of the finite elements.
double rootMeanSquareAbout(double center, const std::vector<double> &values) {
  double sum = 0;
  size_t count = 0;
  for (double x : values)
    if (std::isfinite(x)) {
      sum += (x - center) * (x - center);
      ++count;
    }
  return count ? std::sqrt(sum / double(count)) : 0;
}

} // namespace

double rootMeanSquare(const WideTensor &tensor) {
  return rootMeanSquareAbout(0, tensor.values);
}

double standardDeviation(const WideTensor &tensor) {
  double sum = 0;
  size_t count = 0;
  for (double x : tensor.values)
    if (std::isfinite(x)) {
      sum += x;
      ++count;
    }
  return rootMeanSquareAbout(count ? sum / double(count) : 0, tensor.values);
}

} // namespace dlc
