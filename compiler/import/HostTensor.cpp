#include "compiler/import/HostTensor.h"
#include <bit>
#include <cmath>
#include <cstring>

namespace dlc::import {
namespace {

double roundTo(DType dtype, double value) {
  float single = static_cast<float>(value);
  switch (dtype) {
  case DType::F64:
    return value;
  case DType::F16:
    return fromF16(toF16(single));
  case DType::BF16:
    return fromBf16(toBf16(single));
  default:
    return single;
  }
}

int64_t wrapTo(DType dtype, int64_t value) {
  switch (dtype) {
  case DType::I32:
    return static_cast<int32_t>(value);
  case DType::U8:
    return static_cast<uint8_t>(value);
  case DType::Bool:
    return value != 0;
  default:
    return value;
  }
}

template <typename T> T load(const char *data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T> void store(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(T));
}

} // namespace

HostTensor::HostTensor(DType dtype, Shape shape)
    : dtype(dtype), shape(std::move(shape)) {
  if (holdsFloats())
    floats.resize(elements());
  else
    ints.resize(elements());
}

HostTensor HostTensor::scalar(DType dtype, double value) {
  HostTensor tensor(dtype, {});
  tensor.setNumber(0, value);
  return tensor;
}

HostTensor HostTensor::list(std::vector<int64_t> values) {
  HostTensor tensor(DType::I64, {int64_t(values.size())});
  tensor.ints = std::move(values);
  return tensor;
}

HostTensor HostTensor::from(const Weight &weight) {
  HostTensor tensor(weight.dtype, weight.shape);
  auto *data = static_cast<const char *>(weight.data);
  for (int64_t i = 0, count = tensor.elements(); i < count; ++i)
    switch (weight.dtype) {
    case DType::F32:
      tensor.floats[i] = load<float>(data, i);
      break;
    case DType::F64:
      tensor.floats[i] = load<double>(data, i);
      break;
    case DType::F16:
      tensor.floats[i] = fromF16(load<uint16_t>(data, i));
      break;
    case DType::BF16:
      tensor.floats[i] = fromBf16(load<uint16_t>(data, i));
      break;
    case DType::I64:
      tensor.ints[i] = load<int64_t>(data, i);
      break;
    case DType::I32:
      tensor.ints[i] = load<int32_t>(data, i);
      break;
    default:
      tensor.ints[i] = load<uint8_t>(data, i);
    }
  return tensor;
}

int64_t HostTensor::elements() const {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

bool HostTensor::holdsFloats() const { return isFloat(dtype); }

double HostTensor::number(int64_t index) const {
  return holdsFloats() ? floats[index] : static_cast<double>(ints[index]);
}

int64_t HostTensor::integer(int64_t index) const {
  if (!holdsFloats())
    return ints[index];
  double value = floats[index];
  if (std::isnan(value))
    return 0;
  if (value >= 9223372036854775807.0)
    return INT64_MAX;
  return value <= -9223372036854775808.0 ? INT64_MIN
                                         : static_cast<int64_t>(value);
}

void HostTensor::setNumber(int64_t index, double value) {
  if (holdsFloats()) {
    floats[index] = roundTo(dtype, value);
    return;
  }
  HostTensor wide(DType::F64, {});
  wide.floats[0] = value;
  setInteger(index, dtype == DType::Bool ? value != 0 : wide.integer(0));
}

void HostTensor::setInteger(int64_t index, int64_t value) {
  if (holdsFloats())
    floats[index] = roundTo(dtype, static_cast<double>(value));
  else
    ints[index] = wrapTo(dtype, value);
}

void HostTensor::copyElement(int64_t index, const HostTensor &from,
                             int64_t source) {
  if (holdsFloats())
    floats[index] = from.floats[source];
  else
    ints[index] = from.ints[source];
}

bool HostTensor::isSplat() const {
  auto equal = [](const auto &values) {
    for (const auto &value : values)
      if (std::bit_cast<uint64_t>(value) != std::bit_cast<uint64_t>(values[0]))
        return false;
    return !values.empty();
  };
  return holdsFloats() ? equal(floats) : equal(ints);
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
      store(bytes, static_cast<float>(floats[i]));
      break;
    case DType::F64:
      store(bytes, floats[i]);
      break;
    case DType::F16:
      store(bytes, toF16(static_cast<float>(floats[i])));
      break;
    case DType::BF16:
      store(bytes, toBf16(static_cast<float>(floats[i])));
      break;
    case DType::I64:
      store(bytes, ints[i]);
      break;
    case DType::I32:
      store(bytes, static_cast<int32_t>(ints[i]));
      break;
    default:
      store(bytes, static_cast<uint8_t>(ints[i]));
    }
  return bytes;
}

} // namespace dlc::import
