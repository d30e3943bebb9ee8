// SPDX-License-Identifier: Apache-2.0
// Elementwise ops and reductions on single numbers, independent of how tensors
// are stored.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlc::reference {

/// An elementwise op on up to three numbers. Null if it has no such form.
struct Scalar {
  double (*onFloats)(const double *x) = nullptr;
  /// Wraps as two's complement. Sets `defined` to false if there is no result,
  /// as for x / 0, and returns 0.
  int64_t (*onInts)(const int64_t *x, bool &defined) = nullptr;
};

/// By the op's mnemonic, or a comparison's predicate; null for ops that are not
/// elementwise or depend on attributes.
const Scalar *scalarOf(std::string_view op);

/// A reduction: its initial value and its combining function. Integers wrap.
struct Fold {
  double first;
  double (*onFloats)(double sum, double x);
  int64_t firstInt;
  int64_t (*onInts)(int64_t sum, int64_t x);
};
extern const Fold kSum, kProduct, kMax, kMin;

} // namespace dlc::reference
