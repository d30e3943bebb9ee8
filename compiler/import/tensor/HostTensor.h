// SPDX-License-Identifier: Apache-2.0
// Tensors whose values are known at import time.
#pragma once
#include "compiler/import/tensor/Budget.h"
#include "compiler/import/tensor/ShapeMath.h"
#include "compiler/import/tensor/WeightStore.h"
#include <cmath>
#include <memory>
#include <optional>

namespace dlc::import {

/// `value` rounded to `dtype`.
inline double roundTo(DType dtype, double value) {
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

inline int64_t wrapTo(DType dtype, int64_t value) {
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

inline int64_t truncated(double value) {
  if (std::isnan(value))
    return 0;
  if (value >= 9223372036854775807.0)
    return INT64_MAX;
  return value <= -9223372036854775808.0 ? INT64_MIN
                                         : static_cast<int64_t>(value);
}

/// Elements are stored as double (float types) or int64 (others), and are
/// always representable in `dtype`: `set` rounds or wraps. Copies share
/// storage, so only a tensor without copies may be written.
class HostTensor {
public:
  HostTensor() : HostTensor(DType::F32, {}) {}
  /// Zeros that are not charged to a budget, for shapes not from a model.
  HostTensor(DType dtype, Shape shape) : HostTensor(dtype, shape, {}) {}
  /// Zeros; `lease` is of bytesOf(elements) bytes.
  HostTensor(DType dtype, Shape shape, Lease lease);

  static size_t bytesOf(int64_t elements) {
    return static_cast<size_t>(elements) * sizeof(double);
  }
  static HostTensor scalar(DType dtype, double value);
  static HostTensor list(std::vector<int64_t> values); // I64, rank 1
  /// Unpacks `weight`; `lease` as above.
  static HostTensor from(const Weight &weight, Lease lease);

  DType dtype = DType::F32;
  Shape shape;

  int64_t elements() const;
  bool holdsFloats() const;
  double number(int64_t index) const;
  int64_t integer(int64_t index) const; // floats truncate, saturating
  void setNumber(int64_t index, double value);
  void setInteger(int64_t index, int64_t value);
  void copyElement(int64_t index, const HostTensor &from, int64_t source);
  /// Converts an element of another type.
  void setFrom(int64_t index, const HostTensor &from) {
    if (from.holdsFloats())
      setNumber(index, from.values->floats[index]);
    else
      setInteger(index, from.values->ints[index]);
  }
  /// The same elements in a shape of the same size.
  HostTensor reshaped(Shape shape) const;
  /// All elements (at least one) are equal, bit for bit.
  bool isSplat() const;
  std::vector<int64_t> integers() const;
  /// Row-major bytes in dtype's width, as in a WeightStore.
  std::string bytes() const;

private:
  struct Values {
    bool isFloat;
    std::vector<double> floats;
    std::vector<int64_t> ints;
    Lease lease;
    std::optional<bool> splat; // cached result of isSplat
  };
  std::shared_ptr<Values> values;
};

inline bool HostTensor::holdsFloats() const { return values->isFloat; }

inline double HostTensor::number(int64_t index) const {
  return holdsFloats() ? values->floats[index]
                       : static_cast<double>(values->ints[index]);
}

inline int64_t HostTensor::integer(int64_t index) const {
  return holdsFloats() ? truncated(values->floats[index]) : values->ints[index];
}

inline void HostTensor::setNumber(int64_t index, double value) {
  if (holdsFloats())
    values->floats[index] = roundTo(dtype, value);
  else
    setInteger(index, dtype == DType::Bool ? value != 0 : truncated(value));
}

inline void HostTensor::setInteger(int64_t index, int64_t value) {
  if (holdsFloats())
    values->floats[index] = roundTo(dtype, static_cast<double>(value));
  else
    values->ints[index] = wrapTo(dtype, value);
}

inline void HostTensor::copyElement(int64_t index, const HostTensor &from,
                                    int64_t source) {
  if (holdsFloats())
    values->floats[index] = from.values->floats[source];
  else
    values->ints[index] = from.values->ints[source];
}

/// Bytes of `weight` with its elements converted to the float type `to`.
std::string convertedBytes(const Weight &weight, DType to);

} // namespace dlc::import
