// SPDX-License-Identifier: Apache-2.0
// Matrix products and determinants.
#include "compiler/import/rows/Build.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

/// numpy's matmul: rank-1 operands get a dimension, which the result drops.
LogicalResult matmul(const Node &n) {
  Value a = n.in(0), b = n.in(1);
  if (!a || !b)
    return failure();
  Shape sa = shapeOf(a), sb = shapeOf(b);
  if (sa.empty() || sb.empty())
    return n.fail("expected operands of rank 1 or more, found a scalar");
  bool rowVector = sa.size() == 1, columnVector = sb.size() == 1;
  if (rowVector)
    a = n.reshape(a, {1, sa[0]});
  if (columnVector)
    b = n.reshape(b, {sb[0], 1});
  Value y = n.matmul(a, b);
  if (!y || (!rowVector && !columnVector))
    return n.result(y);
  Shape shape = shapeOf(y);
  if (columnVector)
    shape.pop_back();
  if (rowVector)
    shape.erase(shape.end() - (columnVector ? 1 : 2));
  return n.result(n.reshape(y, shape));
}

Value multiplied(const Node &n, Value x, double factor) {
  return x && factor != 1 ? n.make<ir::MulOp>(x, n.constant(factor, x)) : x;
}

/// alpha * A' B' + beta * C; C of shape [N] becomes matmul's bias.
LogicalResult gemm(const Node &n) {
  Value a = n.in(0), b = n.in(1);
  if (!a || !b)
    return failure();
  bool transA = n.integer("transA", 0), transB = n.integer("transB", 0);
  double alpha = n.number("alpha", 1), beta = n.number("beta", 1);
  if (shapeOf(a).size() != 2 || shapeOf(b).size() != 2)
    return n.fail("expected matrices, found shapes {} and {}", shapeOf(a),
                  shapeOf(b));
  Value c = n.has(2) && beta != 0 ? multiplied(n, n.in(2), beta) : Value();
  int64_t columns = shapeOf(b)[transB ? 0 : 1];
  bool fused =
      c && alpha == 1 &&
      (shapeOf(c) == Shape{columns} || shapeOf(c) == Shape{1, columns});
  Value bias = fused ? n.reshape(c, {columns}) : Value();
  Value y = n.matmul(a, b, transA, transB, bias);
  y = multiplied(n, y, alpha);
  if (c && !fused)
    y = n.make<ir::AddOp>(y, c);
  return n.result(y);
}

/// An operand of com.microsoft's product [.., M, K], transposed according to
/// "transBatchA" (M precedes the batch dimensions) and then, in the product
/// itself, "transA". Reports an error and returns null for rank below 2.
Value operandOf(const Node &n, size_t i, const char *batchFirst) {
  Value x = n.in(i);
  if (!x)
    return x;
  const size_t rank = shapeOf(x).size();
  if (rank < 2) {
    n.fail("expected operands of rank 2 or more, found {}", shapeOf(x));
    return nullptr;
  }
  if (!n.integer(batchFirst, 0) || rank == 2)
    return x;
  std::vector<int64_t> perm;
  for (size_t d = 1; d + 1 < rank; ++d)
    perm.push_back(int64_t(d));
  perm.push_back(0);
  perm.push_back(int64_t(rank) - 1);
  return n.transpose(x, perm);
}

LogicalResult fusedMatMul(const Node &n) {
  Value a = operandOf(n, 0, "transBatchA");
  Value b = a ? operandOf(n, 1, "transBatchB") : a;
  Value y = n.matmul(a, b, n.integer("transA", 0), n.integer("transB", 0));
  return n.result(multiplied(n, y, n.number("alpha", 1)));
}

/// Laplace expansion: minors of the first rows for each set of columns.
LogicalResult determinant(const Node &n, Expr x) {
  const Shape shape = shapeOf(x);
  constexpr int64_t kLargest = 6;
  if (shape.size() < 2 || shape.back() != shape.end()[-2] || shape.back() < 1 ||
      shape.back() > kLargest)
    return n.fail("a determinant of shape {} is not supported, expected square "
                  "matrices of at most {} rows",
                  shape, kLargest);
  const int64_t size = shape.back(), rank = shape.size();
  auto element = [&](int64_t i, int64_t j) {
    Expr row = part(x, rank - 2, i, 1);
    return squeezed(sliceOf(row, rank - 1, j), rank - 2);
  };
  std::map<unsigned, Expr> minors;
  for (int64_t j = 0; j < size; ++j)
    minors.emplace(1u << j, element(0, j));
  for (int64_t i = 1; i < size; ++i) {
    std::map<unsigned, Expr> larger;
    for (unsigned columns = 1; columns < (1u << size); ++columns) {
      if (llvm::popcount(columns) != i + 1)
        continue;
      std::optional<Expr> sum;
      int64_t sign = i % 2 ? -1 : 1;
      for (int64_t j = 0; j < size; ++j) {
        if (!(columns >> j & 1))
          continue;
        Expr term = element(i, j) * minors.at(columns & ~(1u << j));
        if (sign < 0)
          term = -term;
        sum = sum ? *sum + term : term;
        sign = -sign;
      }
      larger.emplace(columns, *sum);
    }
    minors = std::move(larger);
  }
  return n.result(minors.begin()->second);
}

} // namespace

void addLinearRows(Rows &rows) {
  rows["com.microsoft.FusedMatMul"] = fusedMatMul;
  rows["com.microsoft.TransposeMatMul"] = fusedMatMul;
  rows["MatMul"] = matmul;
  rows["Gemm"] = gemm;
  rows["Det"] = ofInputs<determinant>;
}

} // namespace dlc::import
