// SPDX-License-Identifier: Apache-2.0
// A tensor of the reference interpreter: row-major f64, whatever the element
// type, with plain loops.
#pragma once

#include "compiler/dialect/Dlc.h"
#include "compiler/reference/Views.h"

namespace dlc::reference {

struct Tensor {
  Shape shape;
  std::vector<double> data;

  Tensor() = default;
  explicit Tensor(ir::Ints shape, double fill = 0)
      : shape(shape.begin(), shape.end()), data(count(shape), fill) {}

  static int64_t count(ir::Ints shape) {
    int64_t n = 1;
    for (int64_t d : shape)
      n *= d;
    return n;
  }
  int64_t rank() const { return shape.size(); }

  /// The element at the trailing dimensions of `index`; dimensions of 1
  /// broadcast.
  double &at(ir::Ints index) {
    int64_t flat = 0, skip = (int64_t)index.size() - rank();
    for (int64_t i = 0; i < rank(); ++i)
      flat = flat * shape[i] + (shape[i] == 1 ? 0 : index[skip + i]);
    return data[flat];
  }
  double at(ir::Ints index) const {
    return const_cast<Tensor *>(this)->at(index);
  }
};

/// Calls f(index) for every index of `shape` in row-major order.
template <class F> void forEach(ir::Ints shape, F f) {
  Shape index(shape.size(), 0);
  for (int64_t n = Tensor::count(shape); n > 0; --n) {
    f(index);
    for (size_t i = shape.size(); i-- > 0;) {
      if (++index[i] < shape[i])
        break;
      index[i] = 0;
    }
  }
}

} // namespace dlc::reference
