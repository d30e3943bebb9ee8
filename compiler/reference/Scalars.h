// SPDX-License-Identifier: Apache-2.0
// What elementwise ops and reductions compute, a number at a time, whatever
// holds the numbers.
#pragma once

#include <cstdint>
#include <string_view>

namespace dlc::reference {

/// An elementwise op on up to three numbers. Null where it has no such form.
struct Scalar {
  double (*onFloats)(const double *x) = nullptr;
  /// Wraps as two's complement. `defined` becomes false where there is no
  /// result, as of x / 0, which then is 0.
  int64_t (*onInts)(const int64_t *x, bool &defined) = nullptr;
};

/// By the op's mnemonic, a comparison by its predicate; null for an op that is
/// none, or depends on attributes.
const Scalar *scalarOf(std::string_view op);

/// A reduction: what it starts from and how it goes on. Integers wrap.
struct Fold {
  double first;
  double (*onFloats)(double sum, double x);
  int64_t firstInt;
  int64_t (*onInts)(int64_t sum, int64_t x);
};
extern const Fold kSum, kProduct, kMax, kMin;

} // namespace dlc::reference
