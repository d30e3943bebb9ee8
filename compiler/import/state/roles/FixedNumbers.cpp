#include "compiler/import/state/roles/FixedNumbers.h"
#include "runtime/base/numbers/FloatCast.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace dlc::import {
namespace {

using Values = std::vector<double>;

/// A rounding error of the type, relative.
double epsilonOf(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return 0x1p-10;
  case DType::BF16:
    return 0x1p-7;
  default:
    return 0x1p-23; // of f64, too: made in f32, most often
  }
}

double valueAt(const Weight &weight, int64_t i) {
  const size_t size = sizeOf(weight.dtype);
  const char *at = static_cast<const char *>(weight.data) + size_t(i) * size;
  float value;
  if (weight.dtype == DType::F32) {
    std::memcpy(&value, at, sizeof value);
  } else {
    const auto bytes = castFloats(at, 1, weight.dtype, DType::F32);
    std::memcpy(&value, bytes.data(), sizeof value);
  }
  return value;
}

Values columnOf(const Weight &weight, int64_t column, int64_t columns) {
  Values values(size_t(weight.elements() / columns));
  for (size_t row = 0; row < values.size(); ++row)
    values[row] = valueAt(weight, int64_t(row) * columns + column);
  return values;
}

struct Extent {
  explicit Extent(const Values &v) {
    auto [least, most] = std::minmax_element(v.begin(), v.end());
    range = *most - *least;
    largest = std::max(std::abs(*least), std::abs(*most));
  }
  double range, largest;
};

/// The c of v[i + 1] + v[i - 1] = c v[i], which sines, cosines, lines and
/// exponentials fulfil; nothing where some v[i] is further off than `noise`.
std::optional<double> recurrence(const Values &v, double noise) {
  double products = 0, squares = 0;
  for (size_t i = 1; i + 1 < v.size(); ++i) {
    products += v[i] * (v[i - 1] + v[i + 1]);
    squares += v[i] * v[i];
  }
  const double c = squares > 0 ? products / squares : 2;
  for (size_t i = 1; i + 1 < v.size(); ++i)
    if (!(std::abs(v[i - 1] + v[i + 1] - c * v[i]) <= noise))
      return std::nullopt;
  return c;
}

Values differences(const Values &v) {
  Values d;
  for (size_t i = 1; i < v.size(); ++i)
    d.push_back(v[i] - v[i - 1]);
  return d;
}

bool turns(const Values &v) {
  return !std::is_sorted(v.begin(), v.end()) &&
         !std::is_sorted(v.rbegin(), v.rend());
}

Formula ofVector(const Values &v, double epsilon) {
  constexpr size_t kShortestWindow = 8;
  const size_t shortest = epsilon > 1e-6 ? 8 : 4;
  constexpr double kRatios = 1e-5;
  const Extent extent(v);
  const double rounding = 4 * epsilon * extent.largest;
  if (v.size() < shortest || !std::isfinite(extent.largest) ||
      !(extent.range > 16 * rounding))
    return Formula::None;
  bool counts = true, ratios = v[0] != 0;
  for (size_t i = 0; i < v.size(); ++i)
    counts &= v[i] == double(i);
  for (size_t i = 1; i < v.size() && ratios; ++i)
    ratios = std::abs(v[i] * v[0] - v[1] * v[i - 1]) <=
             std::max(kRatios, 8 * epsilon) * std::abs(v[1] * v[i - 1]);
  if (counts)
    return Formula::Count;
  const Values steps = differences(v);
  if (ratios || Extent(steps).range <= rounding)
    return Formula::Progression;
  const double noise = 1e-4 * Extent(steps).range + 2 * rounding;
  auto c = v.size() < kShortestWindow || !turns(v) ? std::nullopt
                                                   : recurrence(steps, noise);
  return c && std::abs(*c) < 2 ? Formula::Window : Formula::None;
}

Formula ofTable(const Weight &weight, int64_t rows, int64_t columns) {
  constexpr int64_t kFewestRows = 6;
  constexpr double kPhases = 1e-3; // angles were rounded, too
  if (rows < kFewestRows)
    return Formula::None;
  const double epsilon = epsilonOf(weight.dtype);
  int64_t telling = 0;
  bool waves = false;
  for (int64_t column = 0; column < columns; ++column) {
    const Values v = columnOf(weight, column, columns);
    const Extent extent(v);
    const double rounding = 4 * epsilon * extent.largest;
    auto c = recurrence(v, kPhases * extent.range + rounding);
    if (!c || std::abs(*c) > 2 + kPhases)
      return Formula::None;
    telling += extent.range > 8 * rounding;
    waves |= turns(v);
  }
  return waves && telling * 2 >= columns ? Formula::Sines : Formula::None;
}

} // namespace

Formula formulaOf(const Weight &weight) {
  std::vector<int64_t> shape = weight.shape;
  std::erase(shape, 1);
  if (!isFloat(weight.dtype) || weight.elements() == 0)
    return Formula::None;
  if (shape.size() == 1)
    return ofVector(columnOf(weight, 0, 1), epsilonOf(weight.dtype));
  return shape.size() == 2 ? ofTable(weight, shape[0], shape[1])
                           : Formula::None;
}

std::string_view nameOf(Formula formula) {
  switch (formula) {
  case Formula::None:
    return "";
  case Formula::Count:
    return "the numbers 0, 1, 2, ...";
  case Formula::Progression:
    return "an arithmetic or geometric progression";
  case Formula::Window:
    return "a window function";
  case Formula::Sines:
    return "a table of sines";
  }
  return "";
}

} // namespace dlc::import
