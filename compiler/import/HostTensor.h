// A tensor whose values are known at import time.
#pragma once
#include "compiler/import/Budget.h"
#include "compiler/import/ShapeMath.h"
#include "compiler/import/WeightStore.h"
#include <memory>
#include <optional>

namespace dlc::import {

/// Values are held wide (double for float types, int64 for the rest) and are
/// always representable in `dtype`: `set` rounds or wraps. Copies share their
/// values, so only a tensor that nobody has copied may be written.
class HostTensor {
public:
  HostTensor() : HostTensor(DType::F32, {}) {}
  /// Zeros of no budget: for shapes that are not a model's.
  HostTensor(DType dtype, Shape shape) : HostTensor(dtype, shape, {}) {}
  /// Zeros that hold `lease`, of bytesOf(elements) bytes.
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
  /// The same values in a shape of as many elements.
  HostTensor reshaped(Shape shape) const;
  /// All elements (at least one) are equal, bit for bit.
  bool isSplat() const;
  std::vector<int64_t> integers() const;
  /// Row-major, in dtype's own width: what a WeightStore holds.
  std::string bytes() const;

private:
  struct Values {
    std::vector<double> floats;
    std::vector<int64_t> ints;
    Lease lease;
    std::optional<bool> splat; // once asked for
  };
  std::shared_ptr<Values> values;
};

/// `weight` with its elements converted to the float type `to`.
std::string convertedBytes(const Weight &weight, DType to);

} // namespace dlc::import
