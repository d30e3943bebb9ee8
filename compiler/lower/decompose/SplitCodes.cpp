// SPDX-License-Identifier: Apache-2.0
// Dequantises low-bit weights in pieces. A matrix that is computed row by row
// (RowRules.h) from constant states with fewer bytes is computed for some rows
// at a time, each before the part of the product that reads them: x W' is the
// concatenation of the parts' results, dy W their sum, which is added in
// another order, in f32 if its elements have 16 bits.
#include "compiler/dialect/Expr.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/decompose/RowRules.h"
#include "compiler/lower/memory/StateLayout.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::tensorType;

namespace dlc {

#define GEN_PASS_DEF_SPLITCODES
#include "compiler/lower/Passes.h.inc"

namespace {

/// Rows of a piece are a multiple of this, so codes and scales are aligned.
constexpr int64_t kMultiple = 64;

/// A matrix [rows, columns] that is dequantised from constant states.
class Decoded {
public:
  Decoded(Value matrix, const SymbolTable &symbols)
      : matrix(matrix), rules(tensorType(matrix).getDimSize(0)),
        isFound(find(matrix, symbols) &&
                stateBytes < byteSize(tensorType(matrix))) {}

  explicit operator bool() const { return isFound; }

  /// Rows of the matrix, computed from rows of the states.
  Value piece(OpBuilder &b, int64_t first, int64_t count) const {
    llvm::DenseMap<Value, Value> made;
    for (Operation *op : order) {
      Value v = op->getResult(0);
      if (isa<ir::ReadOp>(op)) {
        made[v] = rules.slice(b, op->getLoc(), v, first, count);
        continue;
      }
      const RowRule rule = *rules.of(op);
      SmallVector<Value> operands;
      for (auto [x, part] : llvm::zip(op->getOperands(), rule.operands))
        operands.push_back(part == Part::Rows ? made.lookup(x) : x);
      made[v] = rules.build(b, op, rule, operands, count).front();
    }
    return made.lookup(matrix);
  }

private:
  /// Collects the ops that compute v, operands first.
  bool find(Value v, const SymbolTable &symbols) {
    Operation *op = v.getDefiningOp();
    if (!op || llvm::is_contained(order, op))
      return op;
    if (auto read = dyn_cast<ir::ReadOp>(op)) {
      auto state = symbols.lookup<ir::StateOp>(read.getState());
      stateBytes += byteSize(state.getTensorType());
      order.push_back(op);
      return state.getRole() == ir::Role::constant &&
             rules.leading(state.getTensorType());
    }
    auto rule = rules.of(op);
    if (!rule || op->getNumResults() != 1 || rule->results[0] != Part::Rows)
      return false;
    for (auto [x, part] : llvm::zip(op->getOperands(), rule->operands))
      if (part == Part::Rows && !find(x, symbols))
        return false;
    order.push_back(op);
    return true;
  }

  Value matrix;
  RowRules rules;
  SmallVector<Operation *> order;
  int64_t stateBytes = 0;
  bool isFound;
};

struct SplitCodes : impl::SplitCodesBase<SplitCodes> {
  using SplitCodesBase::SplitCodesBase;

  void runOnOperation() final {
    const SymbolTable symbols(getOperation());
    for (auto f : getOperation().getOps<func::FuncOp>())
      for (auto product : llvm::to_vector(f.getOps<ir::MatmulOp>())) {
        auto type = tensorType(product.getB());
        if (type.getRank() != 2 || byteSize(type) <= bytes ||
            product.getTransA())
          continue;
        if (Decoded weight(product.getB(), symbols); weight)
          split(product, weight);
      }
  }

  void split(ir::MatmulOp product, const Decoded &weight) {
    auto type = tensorType(product.getB());
    const int64_t rows = type.getDimSize(0),
                  most = alignUp(bytes * rows / byteSize(type), kMultiple);
    OpBuilder b(product);
    Expr x(b, product.getLoc(), product.getA());
    SmallVector<Value> results;
    for (int64_t first = 0; first < rows; first += most) {
      const int64_t count = std::min(most, rows - first);
      Value w = weight.piece(b, first, count);
      b.setInsertionPoint(product);
      const bool isWhole = product.getTransB();
      Expr part = isWhole ? x : ir::part(x, x.rank() - 1, first, count);
      part = part.make<ir::MatmulOp>(part.v, w, Value(), false, isWhole,
                                     StringAttr());
      results.push_back(part);
    }
    Expr y = product.getTransB() ? x.make<ir::ConcatOp>(ValueRange(results),
                                                        uint64_t(x.rank() - 1))
                                 : sum(b, product.getLoc(), results);
    y = y.cast(ir::elementType(product.getY()));
    if (product.getBias())
      y = y + Expr(b, product.getLoc(), product.getBias());
    product.replaceAllUsesWith(y.v);
    product.erase();
  }

  /// Accumulates in the memory of the previous sum.
  static Expr sum(OpBuilder &b, Location loc, ArrayRef<Value> parts) {
    Expr sum = ir::wide(Expr(b, loc, parts.front()));
    for (Value part : parts.drop_front()) {
      sum = sum + ir::wide(Expr(b, loc, part));
      sum.v.getDefiningOp()->setAttr(kOverwrites, b.getUnitAttr());
    }
    return sum;
  }
};

} // namespace

} // namespace dlc
