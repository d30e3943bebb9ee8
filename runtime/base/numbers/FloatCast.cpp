// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/numbers/FloatCast.h"

#include <cstring>

namespace dlc {
namespace {

// Through f64, which represents all types exactly; f64 to 16 bits through f32.
double load(const std::byte *at, DType type) {
  auto read = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type) {
  case DType::F16:
    return fromF16(read(uint16_t()));
  case DType::BF16:
    return fromBf16(read(uint16_t()));
  case DType::F64:
    return read(double());
  default:
    return read(float());
  }
}

void store(std::byte *at, DType type, double value) {
  auto write = [&](auto rounded) { std::memcpy(at, &rounded, sizeof rounded); };
  switch (type) {
  case DType::F16:
    return write(toF16(float(value)));
  case DType::BF16:
    return write(toBf16(float(value)));
  case DType::F64:
    return write(value);
  default:
    return write(static_cast<float>(value));
  }
}

} // namespace

std::vector<std::byte> castFloats(const void *data, size_t count, DType from,
                                  DType to) {
  auto *source = static_cast<const std::byte *>(data);
  const size_t step = sizeOf(from), width = sizeOf(to);
  std::vector<std::byte> result(count * width);
  for (size_t i = 0; i < count; ++i)
    store(&result[i * width], to, load(source + i * step, from));
  return result;
}

} // namespace dlc
