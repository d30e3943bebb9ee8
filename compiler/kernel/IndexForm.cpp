// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/IndexForm.h"

namespace dlc {

IndexForm IndexForm::variable(unsigned v) {
  IndexForm f;
  f.add(v, 1);
  return f;
}

void IndexForm::add(unsigned v, int64_t coefficient) {
  if (coefficients_.size() <= v)
    coefficients_.resize(v + 1, 0);
  coefficients_[v] += coefficient;
  trim();
}

void IndexForm::trim() {
  while (!coefficients_.empty() && coefficients_.back() == 0)
    coefficients_.pop_back();
}

IndexForm operator+(const IndexForm &a, const IndexForm &b) {
  IndexForm sum = a;
  sum.constant_ += b.constant_;
  if (sum.coefficients_.size() < b.coefficients_.size())
    sum.coefficients_.resize(b.coefficients_.size(), 0);
  for (unsigned v = 0; v < b.coefficients_.size(); ++v)
    sum.coefficients_[v] += b.coefficients_[v];
  sum.trim();
  return sum;
}

IndexForm operator*(const IndexForm &a, int64_t factor) {
  IndexForm product = a;
  product.constant_ *= factor;
  for (int64_t &c : product.coefficients_)
    c *= factor;
  product.trim();
  return product;
}

} // namespace dlc
