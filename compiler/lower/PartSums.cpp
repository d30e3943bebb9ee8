// SPDX-License-Identifier: Apache-2.0
// Partial sums by clusters: a part is reduced as rows of a fixed length, the
// last of which are empty if a rank has fewer elements; then all rows of all
// operands are reduced in one order; then the ranks' results.
// dlc-merge-launches makes one launch for adjacent operands. Norms are summed
// in f64, so that another order changes the result by less than its rounding.
#include "compiler/lower/PartSums.h"
#include "compiler/dialect/ops/Split.h"
#include "compiler/lower/FlatSums.h"
#include "compiler/lower/Marks.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
namespace {

/// Most rows of an operand, and the multiple that their length is.
constexpr int64_t kRows = 512, kRow = 1024;
/// Multiple of the number of rows, so that what follows is aligned.
constexpr int64_t kAlignedRows = 4;

/// Number and length of the rows of an operand of n elements: at least one row
/// is padding.
std::pair<int64_t, int64_t> rowsOf(int64_t n) {
  const int64_t length = kRow * llvm::divideCeil(n, kRow * kRows);
  return {llvm::alignTo(n / length + 1, kAlignedRows), length};
}

class Summary {
public:
  Summary(Operation *op, std::optional<int64_t> bucket)
      : b(op), loc(op->getLoc()), norm(dyn_cast<ir::GlobalNormOp>(op)),
        result(op->getResult(0).getType()), bucket(bucket) {}

  Value byCalls(ArrayRef<Value> parts) {
    auto words = [&](int64_t n) {
      return RankedTensorType::get({n}, b.getI64Type());
    };
    if (norm)
      return ir::NormOfSquaresOp::create(
          b, loc, result,
          sum(ir::SquareSumsOp::create(b, loc, words(ir::kWordsOfSquares),
                                       parts, norm.getLimitAttr())));
    return ir::NoneCountedOp::create(
        b, loc, result,
        sum(ir::CountNonfiniteOp::create(b, loc, words(ir::kWordsOfCount),
                                         parts)));
  }

  Value byClusters(ArrayRef<Value> parts) {
    std::optional<double> limit;
    if (norm && norm.getLimit())
      limit = norm.getLimit()->convertToDouble();
    SmallVector<Value> rows;
    for (Value part : parts)
      rows.push_back(cluster(part, [&](Expr x) -> Value {
        const int64_t n = x.type().getNumElements(), none[] = {0}, axes[] = {1};
        const auto [count, length] = rowsOf(n);
        const int64_t missing[] = {count * length - n};
        Expr flat = x.reshape({n});
        Expr padded =
            flat.make<ir::PadOp>(flat.v, ArrayRef(none), ArrayRef(missing),
                                 ArrayRef(none), APFloat(0.0))
                .reshape({count, length});
        return (norm ? ir::squareOf(padded, limit) : ir::countsAsOther(padded))
            .sum(axes);
      }));
    auto total = [](Expr x) {
      const int64_t axes[] = {0};
      return x.sum(axes, /*keepdims=*/true);
    };
    auto finish = [&](Expr x) -> Value {
      x = x.reshape({});
      return norm ? ir::sqrt(x).cast(cast<ShapedType>(result).getElementType())
                  : ir::isNone(x);
    };
    if (!bucket)
      return cluster(allOf(rows), [&](Expr x) { return finish(total(x)); });
    return cluster(
        sum(cluster(allOf(rows), [&](Expr x) -> Value { return total(x); })),
        finish);
  }

private:
  Value sum(Value v) {
    return ir::AllReduceOp::create(b, loc, v.getType(), v,
                                   b.getI64IntegerAttr(*bucket), nullptr,
                                   ir::Combine::sum);
  }
  /// Concatenates the rows of all operands.
  Value allOf(ArrayRef<Value> rows) {
    if (rows.size() == 1)
      return rows.front();
    Value all = Expr(b, loc, rows.front())
                    .make<ir::ConcatOp>(ValueRange(rows), uint64_t(0))
                    .v;
    all.getDefiningOp()->setAttr(kInPlace, b.getUnitAttr());
    return all;
  }
  Value cluster(Value x, llvm::function_ref<Value(Expr)> body) {
    OpBuilder inside(b.getContext());
    Region region;
    Block *block = inside.createBlock(&region);
    auto type = ir::tensorType(x);
    Value y = body(
        Expr(inside, loc,
             block->addArgument(
                 RankedTensorType::get(type.getShape(), type.getElementType()),
                 loc)));
    ir::YieldOp::create(inside, loc, y);
    auto fused = ir::FusedOp::create(b, loc, y.getType(), x);
    fused.getBody().takeBody(region);
    return fused->getResult(0);
  }

  OpBuilder b;
  const Location loc;
  ir::GlobalNormOp norm; // null: all_finite
  const Type result;
  const std::optional<int64_t> bucket; // unset: operands are whole
};

} // namespace

Value ofParts(Operation *op, ArrayRef<Value> parts,
              std::optional<int64_t> bucket) {
  Summary summary(op, bucket);
  return op->hasAttr(kOfParts) ? summary.byClusters(parts)
                               : summary.byCalls(parts);
}

} // namespace dlc
