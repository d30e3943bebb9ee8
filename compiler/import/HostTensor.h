// A tensor whose values are known at import time.
#pragma once
#include "compiler/import/ShapeMath.h"
#include "compiler/import/WeightStore.h"

namespace dlc::import {

/// Values are held wide (double for float types, int64 for the rest) and are
/// always representable in `dtype`: `set` rounds or wraps.
class HostTensor {
public:
  HostTensor() = default;
  HostTensor(DType dtype, Shape shape);

  static HostTensor scalar(DType dtype, double value);
  static HostTensor list(std::vector<int64_t> values); // I64, rank 1
  /// Unpacks `weight`.
  static HostTensor from(const Weight &weight);

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
      setNumber(index, from.floats[index]);
    else
      setInteger(index, from.ints[index]);
  }
  /// All elements (at least one) are equal, bit for bit.
  bool isSplat() const;
  std::vector<int64_t> integers() const;
  /// Row-major, in dtype's own width: what a WeightStore holds.
  std::string bytes() const;

private:
  std::vector<double> floats;
  std::vector<int64_t> ints;
};

} // namespace dlc::import
