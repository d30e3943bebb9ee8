// SPDX-License-Identifier: Apache-2.0
#include "test/support/Elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

namespace dlc::test {
namespace {

template <class T> T load(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T> void store(std::byte *at, T value) {
  std::memcpy(at, &value, sizeof value);
}

/// Relative rounding error of the type.
double precision(DType type) {
  switch (type) {
  case DType::BF16:
    return 0x1p-7;
  case DType::F16:
    return 0x1p-9;
  case DType::F64:
    return 1e-12;
  default:
    return 2e-5;
  }
}

} // namespace

double readElement(DType type, const void *array, int64_t index) {
  const auto *at = static_cast<const std::byte *>(array) +
                   index * static_cast<int64_t>(sizeOf(type));
  switch (type) {
  case DType::F32:
    return load<float>(at);
  case DType::F64:
    return load<double>(at);
  case DType::F16:
    return fromF16(load<uint16_t>(at));
  case DType::BF16:
    return fromBf16(load<uint16_t>(at));
  case DType::I64:
    return static_cast<double>(load<int64_t>(at));
  case DType::I32:
    return load<int32_t>(at);
  default:
    return load<uint8_t>(at);
  }
}

void writeElement(DType type, void *array, int64_t index, double value) {
  auto *at = static_cast<std::byte *>(array) +
             index * static_cast<int64_t>(sizeOf(type));
  switch (type) {
  case DType::F32:
    return store(at, static_cast<float>(value));
  case DType::F64:
    return store(at, value);
  case DType::F16:
    return store(at, toF16(static_cast<float>(value)));
  case DType::BF16:
    return store(at, toBf16(static_cast<float>(value)));
  case DType::I64:
    return store(at, static_cast<int64_t>(value));
  case DType::I32:
    return store(at, static_cast<int32_t>(value));
  default:
    return store(at, static_cast<uint8_t>(value));
  }
}

static void fillRows(int64_t rows, int64_t *numbers, int64_t count,
                     std::mt19937 &random) {
  std::vector<int64_t> all(static_cast<size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), random);
  for (int64_t i = 0; i < count; ++i)
    numbers[i] = i % 3 == 2 || i >= rows ? rows : all[static_cast<size_t>(i)];
}

void fillRandom(const Elements &elements, void *array, bool positive,
                std::mt19937 &random, int64_t below) {
  if (elements.rows)
    return fillRows(*elements.rows, static_cast<int64_t *>(array),
                    elements.count, random);
  const auto most = static_cast<uint64_t>(below);
  std::uniform_real_distribution<> real(positive ? 0.1 : -2.0, 2.0);
  for (int64_t i = 0; i < elements.count; ++i) {
    const double value = isFloat(elements.type) ? real(random)
                         : elements.type == DType::Bool
                             ? static_cast<double>(random() % 2)
                             : static_cast<double>(random() % most);
    writeElement(elements.type, array, i, value);
  }
}

void nudge(const Elements &elements, void *array, std::mt19937 &random) {
  if (elements.type != DType::F32 && elements.type != DType::F64)
    return;
  std::uniform_real_distribution<> real(-1e-6, 1e-6);
  for (int64_t i = 0; i < elements.count; ++i)
    writeElement(elements.type, array, i,
                 readElement(elements.type, array, i) * (1 + real(random)));
}

std::string compare(const Elements &elements, const void *expected,
                    const void *nudged, const void *found, double slack) {
  double largest = 0;
  for (int64_t i = 0; i < elements.count; ++i)
    if (const double e = readElement(elements.type, expected, i);
        std::isfinite(e))
      largest = std::max(largest, std::fabs(e));
  for (int64_t i = 0; i < elements.count; ++i) {
    const double e = readElement(elements.type, expected, i);
    const double f = readElement(elements.type, found, i);
    if (e == f || (std::isnan(e) && std::isnan(f)))
      continue;
    const double rounding =
        std::fabs(readElement(elements.type, nudged, i) - e);
    const double share = elements.through ? precision(*elements.through) : 1e-5;
    const double most = slack * (precision(elements.type) * std::fabs(e) +
                                 share * largest + 8 * rounding);
    if (isFloat(elements.type) && std::fabs(e - f) <= most)
      continue;
    return fmt::format("element {} of {} is {}, the CPU's is {}", i,
                       elements.count, f, e);
  }
  return "";
}

} // namespace dlc::test
