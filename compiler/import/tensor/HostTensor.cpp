// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/HostTensor.h"
#include <bit>
#include <cmath>
#include <cstring>

namespace dlc::import {
namespace {

template <typename T> T load(const char *data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T> void store(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(T));
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
  auto *data = static_cast<const char *>(weight.data);
  for (int64_t i = 0, count = tensor.elements(); i < count; ++i)
    switch (weight.dtype) {
    case DType::F32:
      floats[i] = load<float>(data, i);
      break;
    case DType::F64:
      floats[i] = load<double>(data, i);
      break;
    case DType::F16:
      floats[i] = fromF16(load<uint16_t>(data, i));
      break;
    case DType::BF16:
      floats[i] = fromBf16(load<uint16_t>(data, i));
      break;
    case DType::I64:
      ints[i] = load<int64_t>(data, i);
      break;
    case DType::I32:
      ints[i] = load<int32_t>(data, i);
      break;
    default:
      ints[i] = load<uint8_t>(data, i);
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
  std::string bytes;
  bytes.reserve(elements() * sizeOf(dtype));
  for (int64_t i = 0, count = elements(); i < count; ++i)
    switch (dtype) {
    case DType::F32:
      store(bytes, static_cast<float>(values->floats[i]));
      break;
    case DType::F64:
      store(bytes, values->floats[i]);
      break;
    case DType::F16:
      store(bytes, toF16(static_cast<float>(values->floats[i])));
      break;
    case DType::BF16:
      store(bytes, toBf16(static_cast<float>(values->floats[i])));
      break;
    case DType::I64:
      store(bytes, values->ints[i]);
      break;
    case DType::I32:
      store(bytes, static_cast<int32_t>(values->ints[i]));
      break;
    default:
      store(bytes, static_cast<uint8_t>(values->ints[i]));
    }
  return bytes;
}

std::string convertedBytes(const Weight &weight, DType to) {
  constexpr int64_t kPiece = 1 << 16;
  std::string bytes;
  const int64_t count = weight.elements();
  for (int64_t start = 0; start < count; start += kPiece) {
    Weight piece{weight.dtype, {std::min(kPiece, count - start)}};
    piece.data = static_cast<const char *>(weight.data) +
                 size_t(start) * sizeOf(weight.dtype);
    HostTensor from = HostTensor::from(piece, {}), converted(to, piece.shape);
    for (int64_t i = 0; i < piece.shape[0]; ++i)
      converted.setFrom(i, from);
    bytes += converted.bytes();
  }
  return bytes;
}

} // namespace dlc::import
