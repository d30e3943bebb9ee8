// SPDX-License-Identifier: Apache-2.0
// Affine index expressions: constant + sum of coefficient * variable.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace dlc {

/// An affine form over numbered variables, in exact integer arithmetic. The
/// representation is canonical, so == compares values.
class IndexForm {
public:
  IndexForm(int64_t constant = 0) : constant_(constant) {}
  static IndexForm variable(unsigned v);

  int64_t constant() const { return constant_; }
  int64_t coefficient(unsigned v) const {
    return v < coefficients_.size() ? coefficients_[v] : 0;
  }
  /// One more than the highest variable with a coefficient.
  unsigned variables() const { return coefficients_.size(); }
  bool isConstant() const { return coefficients_.empty(); }

  void add(unsigned v, int64_t coefficient);
  friend IndexForm operator+(const IndexForm &a, const IndexForm &b);
  friend IndexForm operator*(const IndexForm &a, int64_t factor);
  friend bool operator==(const IndexForm &a, const IndexForm &b) {
    return a.constant_ == b.constant_ && a.coefficients_ == b.coefficients_;
  }
  friend bool operator<(const IndexForm &a, const IndexForm &b) {
    if (a.constant_ != b.constant_)
      return a.constant_ < b.constant_;
    return a.coefficients_ < b.coefficients_;
  }

private:
  void trim();

  int64_t constant_;
  llvm::SmallVector<int64_t, 4> coefficients_;
};

} // namespace dlc
