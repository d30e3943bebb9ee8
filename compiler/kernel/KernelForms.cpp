// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/KernelForms.h"

using namespace mlir;
using dlc::ir::Ints;

namespace dlc {

static int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

std::pair<int64_t, int64_t> KernelForms::range(const IndexForm &f) const {
  int64_t low = f.constant(), high = low;
  for (unsigned v = 0; v < f.variables(); ++v) {
    int64_t span =
        f.coefficient(v) * std::max<int64_t>(graph.variables[v].size - 1, 0);
    (span < 0 ? low : high) += span;
  }
  return {low, high};
}

IndexForm KernelForms::derived(KernelVariable::Kind kind, const IndexForm &of,
                               int64_t divisor, int64_t size) {
  for (unsigned v = 0; v < graph.variables.size(); ++v) {
    const KernelVariable &k = graph.variables[v];
    if (k.kind == kind && k.divisor == divisor && k.of == of)
      return IndexForm::variable(v);
  }
  graph.variables.push_back({kind, size, false, of, divisor});
  return IndexForm::variable(graph.variables.size() - 1);
}

IndexForm KernelForms::linear(ArrayRef<IndexForm> index, Ints shape) {
  IndexForm sum;
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    sum = sum + index[d] * stride;
  return sum;
}

Forms KernelForms::delinear(IndexForm position, Ints shape) {
  Forms index;
  int64_t stride = 1;
  for (int64_t size : shape)
    stride *= size;
  for (int64_t size : shape) {
    stride = size ? stride / size : 0;
    if (size <= 1 || stride == 0) {
      index.push_back(0);
      continue;
    }
    IndexForm quotient(floorDivide(position.constant(), stride));
    IndexForm rest(position.constant() - quotient.constant() * stride);
    for (unsigned v = 0; v < position.variables(); ++v) {
      int64_t c = position.coefficient(v);
      if (c)
        c % stride ? rest.add(v, c) : quotient.add(v, c / stride);
    }
    auto [low, high] = range(rest);
    if (low < 0 || high >= stride) {
      quotient = derived(KernelVariable::Quotient, position, stride, size);
      rest = derived(KernelVariable::Remainder, position, stride, stride);
    }
    index.push_back(quotient);
    position = rest;
  }
  return index;
}

Forms KernelForms::over(Ints shape, ArrayRef<unsigned> loops) {
  SmallVector<int64_t, 4> sizes, squeezed;
  Forms forms;
  for (unsigned v : loops) {
    sizes.push_back(graph.variables[v].size);
    forms.push_back(IndexForm::variable(v));
  }
  for (int64_t s : shape)
    if (s != 1)
      squeezed.push_back(s);
  if (squeezed != sizes)
    return delinear(linear(forms, sizes), shape);
  Forms index;
  for (int64_t s : shape)
    index.push_back(s == 1 ? IndexForm()
                           : forms[llvm::count_if(index, [](auto &f) {
                               return !f.isConstant();
                             })]);
  return index;
}

} // namespace dlc
