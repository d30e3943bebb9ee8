// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/commands/Product.h"
#include "runtime/plan/Attributes.h"

#include <algorithm>
#include <numeric>

namespace dlc {

int64_t countOf(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

static Shape batchOf(const Shape &shape, size_t rank) {
  Shape batch(rank - shape.size(), 1);
  batch.insert(batch.end(), shape.begin(), shape.end() - 2);
  return batch;
}

Result<Product> productOf(const CommandSpec &spec, bool hasBias) {
  const Shape a = shapeOf(spec.inputs[0]), b = shapeOf(spec.inputs[1]);
  if (a.size() < 2 || b.size() < 2)
    return corrupt(
        spec, fmt::format("operands have ranks {} and {}, expected at least 2",
                          a.size(), b.size()));
  Product p;
  p.transA = plan::intAttribute(spec.command, "trans_a", 0);
  p.transB = plan::intAttribute(spec.command, "trans_b", 0);
  const auto row = [](const Shape &s, bool trans) {
    return trans ? s[s.size() - 1] : s[s.size() - 2];
  };
  p.m = row(a, p.transA), p.k = row(a, !p.transA), p.n = row(b, !p.transB);
  if (row(b, p.transB) != p.k)
    return corrupt(spec, fmt::format("a contracts {} elements and b {}", p.k,
                                     row(b, p.transB)));
  const size_t rank = std::max(a.size(), b.size());
  p.batchA = batchOf(a, rank), p.batchB = batchOf(b, rank);
  for (size_t i = 0; i < rank - 2; ++i) {
    if (p.batchA[i] != p.batchB[i] && p.batchA[i] != 1 && p.batchB[i] != 1)
      return corrupt(spec,
                     fmt::format("batch dimensions {} and {} do not broadcast",
                                 p.batchA[i], p.batchB[i]));
    p.batchY.push_back(p.batchA[i] == 1 ? p.batchB[i] : p.batchA[i]);
  }
  Shape y = p.batchY;
  y.insert(y.end(), {p.m, p.n});
  DLC_TRY(expectShape(spec, spec.outputs[0], y, "y"));
  if (hasBias)
    DLC_TRY(expectShape(spec, spec.inputs[2], {p.n}, "bias"));
  return p;
}

void simplify(Product &p) {
  if (countOf(p.batchB) == 1 && !p.transA) {
    p.m *= countOf(p.batchA);
    p.batchA = p.batchB = p.batchY = {};
  } else if (p.batchA == p.batchB || countOf(p.batchA) == 1 ||
             countOf(p.batchB) == 1) {
    p.batchA = {countOf(p.batchA)}, p.batchB = {countOf(p.batchB)},
    p.batchY = {countOf(p.batchY)};
  }
}

int64_t matrixIndex(int64_t index, const Shape &batchY, const Shape &batch) {
  int64_t result = 0, stride = 1;
  for (size_t i = batchY.size(); i-- > 0; index /= batchY[i]) {
    result += batch[i] == 1 ? 0 : index % batchY[i] * stride;
    stride *= batch[i];
  }
  return result;
}

} // namespace dlc
