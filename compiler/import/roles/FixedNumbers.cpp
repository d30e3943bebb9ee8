// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/roles/FixedNumbers.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace dlc::import {
namespace {

using Values = std::vector<double>;

/// Relative rounding error of the type.
double epsilonOf(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return 0x1p-10;
  case DType::BF16:
    return 0x1p-7;
  default:
    return 0x1p-23; // also for f64, usually computed in f32
  }
}

double valueAt(const Weight &weight, int64_t i) {
  float value;
  if (weight.dtype != DType::F32)
    return floatsOf({weight.dtype, {1}, weight.at(size_t(i))})[0];
  std::memcpy(&value, weight.at(size_t(i)), sizeof value);
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

/// The constant c with v[i + 1] + v[i - 1] = c v[i], as for sines, cosines,
/// lines and exponentials; nullopt if the deviation exceeds `noise`.
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
  if (Extent(steps).range <= rounding)
    return Formula::Steps;
  if (ratios)
    return Formula::Ratios;
  const double noise = 1e-4 * Extent(steps).range + 2 * rounding;
  auto c = v.size() < kShortestWindow || !turns(v) ? std::nullopt
                                                   : recurrence(steps, noise);
  return c && std::abs(*c) < 2 ? Formula::Window : Formula::None;
}

/// Whether all columns are waves, some have turning points, and most are
/// distinguishable from constants.
class Waves {
public:
  explicit Waves(double epsilon) : epsilon(epsilon) {}

  /// False if `v` is not a wave.
  bool add(const Values &v) {
    constexpr double kPhases = 1e-3; // angles were rounded, too
    const Extent extent(v);
    const double rounding = 4 * epsilon * extent.largest;
    auto c = recurrence(v, kPhases * extent.range + rounding);
    if (!c || std::abs(*c) > 2 + kPhases)
      return false;
    ++columns;
    telling += extent.range > 8 * rounding;
    turning |= turns(v);
    return true;
  }
  Formula formula() const {
    return turning && telling * 2 >= columns ? Formula::Sines : Formula::None;
  }

private:
  const double epsilon;
  int64_t columns = 0, telling = 0;
  bool turning = false;
};

Formula ofTable(const Weight &weight, int64_t rows, int64_t columns) {
  constexpr int64_t kFewestRows = 6;
  if (rows < kFewestRows)
    return Formula::None;
  Waves waves(epsilonOf(weight.dtype));
  for (int64_t column = 0; column < columns; ++column)
    if (!waves.add(columnOf(weight, column, columns)))
      return Formula::None;
  return waves.formula();
}

/// Length of a grid's lines, from a column that is constant on each line or
/// repeats for each line; 0 if it does neither.
size_t lineLength(const Values &v) {
  size_t length = 1;
  while (length < v.size() && v[length] == v[0])
    ++length;
  if (length == 1)
    length = size_t(std::find(v.begin() + 1, v.end(), v[0]) - v.begin());
  return v.size() % length == 0 ? length : 0;
}

/// The values of a column that only depends on the position in a line, or only
/// on the line; empty if on both.
Values alongOneAxis(const Values &v, size_t length) {
  Values inLine(v.begin(), v.begin() + ptrdiff_t(length)), ofLine;
  for (size_t i = 0; i < v.size(); i += length)
    ofLine.push_back(v[i]);
  bool isInLine = true, isOfLine = true;
  for (size_t i = 0; i < v.size(); ++i) {
    isInLine &= v[i] == inLine[i % length];
    isOfLine &= v[i] == ofLine[i / length];
  }
  return isInLine ? inLine : isOfLine ? ofLine : Values();
}

/// A row per grid position, optionally after a row of zeros for a token.
Formula ofGrid(const Weight &weight, int64_t rows, int64_t columns) {
  constexpr size_t kShortestSide = 4;
  if (rows < int64_t(kShortestSide * kShortestSide))
    return Formula::None;
  bool hasToken = true;
  for (int64_t column = 0; column < columns && hasToken; ++column)
    hasToken = valueAt(weight, column) == 0;
  Waves waves(epsilonOf(weight.dtype));
  size_t length = 0;
  for (int64_t column = 0; column < columns; ++column) {
    Values v = columnOf(weight, column, columns);
    if (hasToken)
      v.erase(v.begin());
    if (column == 0)
      length = lineLength(v);
    if (length < kShortestSide || v.size() / length < kShortestSide)
      return Formula::None;
    const Values line = alongOneAxis(v, length);
    if (line.empty() || !waves.add(line))
      return Formula::None;
  }
  return waves.formula();
}

} // namespace

Formula formulaOf(const Weight &weight) {
  std::vector<int64_t> shape = weight.shape;
  std::erase(shape, 1);
  if (!isFloat(weight.dtype) || weight.elements() == 0)
    return Formula::None;
  if (shape.size() == 1)
    return ofVector(columnOf(weight, 0, 1), epsilonOf(weight.dtype));
  if (shape.size() != 2)
    return Formula::None;
  const Formula ofRows = ofTable(weight, shape[0], shape[1]);
  return ofRows == Formula::None ? ofGrid(weight, shape[0], shape[1]) : ofRows;
}

std::string_view nameOf(Formula formula) {
  switch (formula) {
  case Formula::None:
    return "";
  case Formula::Count:
    return "the numbers 0, 1, 2, ...";
  case Formula::Steps:
    return "an arithmetic progression";
  case Formula::Ratios:
    return "a geometric progression";
  case Formula::Window:
    return "a window function";
  case Formula::Sines:
    return "a table of sines";
  }
  return "";
}

template <typename T>
static std::optional<std::pair<double, double>>
find(const Weight &weight, int64_t rows, int64_t columns) {
  const auto at = [&](int64_t row, int64_t column) {
    T x;
    std::memcpy(&x, weight.at(size_t(row * columns + column)), sizeof x);
    return x;
  };
  const T low = at(0, 0), high = at(0, columns - 1);
  if (low == high)
    return std::nullopt;
  for (int64_t row = 0; row < weight.elements() / columns; ++row)
    for (int64_t column = 0; column < columns; ++column)
      if (!(at(row, column) == (column <= row % rows ? low : high)))
        return std::nullopt;
  return std::pair(double(low), double(high));
}

std::optional<std::pair<double, double>> triangleOf(const Weight &weight) {
  const auto &shape = weight.shape;
  if (shape.size() < 2)
    return std::nullopt;
  const int64_t rows = shape.end()[-2], columns = shape.back();
  if (rows < 2 || columns < 2 || !weight.elements())
    return std::nullopt;
  switch (weight.dtype) {
  case DType::F32:
    return find<float>(weight, rows, columns);
  case DType::I64:
    return find<int64_t>(weight, rows, columns);
  case DType::U8:
  case DType::Bool:
    return find<uint8_t>(weight, rows, columns);
  default:
    return std::nullopt;
  }
}

float largestFinite(const Weight &weight) {
  float x, largest = 0;
  for (size_t i = 0; i < weight.bytes / sizeof x; ++i) {
    std::memcpy(&x, weight.at(i), sizeof x);
    if (std::isfinite(x))
      largest = std::max(largest, std::abs(x));
  }
  return largest;
}

} // namespace dlc::import
