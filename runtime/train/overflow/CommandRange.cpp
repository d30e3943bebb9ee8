// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/overflow/CommandRange.h"

#include "runtime/base/numbers/DType.h"
#include "runtime/plan/Types.h"

#include <cmath>
#include <fmt/ranges.h>

namespace dlc {
namespace {

template <class T, class Widen>
Range scan(const std::byte *data, uint64_t count, Widen widen) {
  const T *values = reinterpret_cast<const T *>(data);
  Range r{.count = count};
  bool any = false;
  for (uint64_t i = 0; i < count; ++i) {
    const double x = widen(values[i]);
    if (std::isfinite(x)) {
      r.low = any ? std::min(r.low, x) : x;
      r.high = any ? std::max(r.high, x) : x;
      any = true;
      continue;
    }
    if (r.finite())
      r.first = i;
    ++(std::isnan(x) ? r.nan : x > 0 ? r.plus : r.minus);
  }
  return r;
}

} // namespace

Range rangeOf(const plan::TensorType &type, const std::byte *data) {
  uint64_t count = 1;
  for (int64_t d : type.shape())
    count *= uint64_t(d);
  auto same = [](auto x) { return double(x); };
  switch (type.dtype()) {
  case plan::F32:
    return scan<float>(data, count, same);
  case plan::F64:
    return scan<double>(data, count, same);
  case plan::F16:
    return scan<uint16_t>(data, count, fromF16);
  case plan::BF16:
    return scan<uint16_t>(data, count, fromBf16);
  default:
    return {};
  }
}

Result<Range> rangeOf(Device &device, const Operand &operand) {
  std::vector<std::byte> copy;
  DLC_ASSIGN(const std::byte *data, fetchBytes(device, operand, copy));
  return rangeOf(*operand.type, data);
}

Result<const std::byte *> fetchBytes(Device &device, const Operand &operand,
                                     std::vector<std::byte> &copy) {
  if (const std::byte *data = device.hostPointer(operand.data))
    return data;
  copy.resize(plan::bytesOf(*operand.type).value_or(0));
  DLC_TRY(device.download(copy.data(), operand.data, copy.size()));
  return copy.data();
}

std::string typeText(const plan::TensorType &type) {
  const std::optional<DType> dtype = plan::dtypeOf(type.dtype());
  return fmt::format("{} [{}]", dtype ? nameOf(*dtype) : "?",
                     fmt::join(type.shape(), ", "));
}

std::string rangeText(const Range &r) {
  std::string text = fmt::format("from {:.4g} to {:.4g}", r.low, r.high);
  if (r.plus + r.minus + r.nan == r.count)
    text = "all";
  if (r.plus + r.minus)
    text += fmt::format(", {} infinite", r.plus + r.minus);
  if (r.nan)
    text += fmt::format(", {} NaN", r.nan);
  return text;
}

} // namespace dlc
