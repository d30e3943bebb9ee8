// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/HostTensor.h"
#include "runtime/base/numbers/FloatCast.h"
#include <bit>
#include <cstring>

namespace dlc::import {
namespace {

/// Reads integers of a type.
template <typename T>
void loadAll(const Weight &weight, std::vector<int64_t> &ints) {
  for (size_t i = 0; i < ints.size(); ++i) {
    T value;
    std::memcpy(&value, weight.at(i), sizeof(T));
    ints[i] = value;
  }
}

template <typename T> std::string storedAs(const std::vector<int64_t> &ints) {
  const std::vector<T> narrow(ints.begin(), ints.end());
  return {reinterpret_cast<const char *>(narrow.data()),
          narrow.size() * sizeof(T)};
}

} // namespace

HostTensor::HostTensor(DType dtype, Shape shape, Lease lease)
    : dtype(dtype), shape(std::move(shape)),
      values(std::make_shared<Values>()) {
  values->isFloat = isFloat(dtype);
  if (holdsFloats())
    values->floats.resize(elements());
  else
    values->ints.resize(elements());
  values->lease = std::move(lease);
}

HostTensor HostTensor::scalar(DType dtype, double value) {
  HostTensor tensor(dtype, {});
  tensor.setNumber(0, value);
  return tensor;
}

HostTensor HostTensor::list(std::vector<int64_t> values) {
  HostTensor tensor(DType::I64, {int64_t(values.size())});
  tensor.values->ints = std::move(values);
  return tensor;
}

HostTensor HostTensor::reshaped(Shape other) const {
  HostTensor tensor = *this;
  tensor.shape = std::move(other);
  return tensor;
}

HostTensor HostTensor::from(const Weight &weight, Lease lease) {
  HostTensor tensor(weight.dtype, weight.shape, std::move(lease));
  std::vector<double> &floats = tensor.values->floats;
  std::vector<int64_t> &ints = tensor.values->ints;
  if (tensor.holdsFloats()) {
    const auto wide =
        castFloats(weight.data, floats.size(), weight.dtype, DType::F64);
    std::memcpy(floats.data(), wide.data(), wide.size());
  } else if (weight.dtype == DType::I64) {
    loadAll<int64_t>(weight, ints);
  } else if (weight.dtype == DType::I32) {
    loadAll<int32_t>(weight, ints);
  } else {
    loadAll<uint8_t>(weight, ints);
  }
  return tensor;
}

int64_t HostTensor::elements() const {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

bool HostTensor::isSplat() const {
  auto equal = [](const auto &all) {
    for (const auto &value : all)
      if (std::bit_cast<uint64_t>(value) != std::bit_cast<uint64_t>(all[0]))
        return false;
    return !all.empty();
  };
  if (!values->splat)
    values->splat = holdsFloats() ? equal(values->floats) : equal(values->ints);
  return *values->splat;
}

std::vector<int64_t> HostTensor::integers() const {
  std::vector<int64_t> values(elements());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = integer(i);
  return values;
}

std::string HostTensor::bytes() const {
  if (holdsFloats()) {
    const auto narrow = castFloats(values->floats.data(), values->floats.size(),
                                   DType::F64, dtype);
    return {reinterpret_cast<const char *>(narrow.data()), narrow.size()};
  }
  return dtype == DType::I64   ? storedAs<int64_t>(values->ints)
         : dtype == DType::I32 ? storedAs<int32_t>(values->ints)
                               : storedAs<uint8_t>(values->ints);
}

std::string convertedBytes(const Weight &weight, DType to) {
  constexpr int64_t kPiece = 1 << 16;
  std::string bytes;
  const int64_t count = weight.elements();
  for (int64_t start = 0; start < count; start += kPiece) {
    const Weight piece{weight.dtype,
                       {std::min(kPiece, count - start)},
                       weight.at(size_t(start))};
    HostTensor from = HostTensor::from(piece, {}), converted(to, piece.shape);
    for (int64_t i = 0; i < piece.shape[0]; ++i)
      converted.setFrom(i, from);
    bytes += converted.bytes();
  }
  return bytes;
}

} // namespace dlc::import
