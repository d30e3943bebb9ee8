// What a target is asked the price of.
#pragma once

#include <cstdint>

namespace dlc {

/// `batch` products [rows, depth] @ [depth, columns].
struct ProductShape {
  int64_t batch, rows, columns, depth;

  double flops() const { return 2.0 * batch * rows * columns * depth; }
};

/// What the elements of an operand cost that a generated product loads: bytes
/// that are read and operations, each time that the element is.
struct OperandCost {
  double bytes = 2, operations = 0;
};

} // namespace dlc
