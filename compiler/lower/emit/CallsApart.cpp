// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/emit/CallsApart.h"
#include "compiler/dialect/Expr.h"
#include "compiler/lower/Marks.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {
namespace {

using BufferOf = llvm::function_ref<Value(Value)>;
using Body = llvm::function_ref<Value(OpBuilder &, ValueRange)>;

class Writer {
public:
  Writer(OpBuilder &b, Operation *op, KernelTable &kernels, BufferOf buffer,
         int64_t group)
      : b(b), op(op), loc(op->getLoc()), kernels(kernels), buffer(buffer),
        group(b.getI64IntegerAttr(group)) {}

  void write(ir::MatmulActivationOp forward) {
    if (forward.getActivation() == "relu")
      return product(forward.getY(), true);
    product(forward.getKept(), false);
    kernel(forward.getKept(), forward.getY(), [&](OpBuilder &in, ValueRange x) {
      return ir::Expr(in, loc, x[0]).make<ir::GeluOp>(x[0], true).v;
    });
  }
  void write(ir::MatmulActivationBackwardOp backward) {
    const bool isRelu = backward.getActivation() == "relu";
    Value dx = backward.getDx();
    product(dx, false);
    kernel({dx, isRelu ? backward.getActivated() : backward.getKept()}, dx,
           [&](OpBuilder &in, ValueRange x) {
             const ir::Expr dy(in, loc, x[0]);
             return meaningOf(
                 isRelu ? dy.make<ir::ReluBackwardOp>(x[0], x[1]).v
                        : dy.make<ir::GeluBackwardOp>(x[0], x[1], true).v);
           });
    if (Value sum = backward.getDbias())
      kernel(dx, sum, [&](OpBuilder &in, ValueRange x) {
        const auto rows =
            llvm::to_vector(llvm::seq<int64_t>(0, rankOf(dx) - 1));
        return ir::Expr(in, loc, x[0])
            .make<ir::ReduceSumOp>(x[0], ArrayRef<int64_t>(rows), false)
            .v;
      });
  }

private:
  static int64_t rankOf(Value v) { return tensorType(v).getRank(); }

  /// Of the op's first operands and its bias, if it has one, to `y`.
  void product(Value y, bool hasActivation) {
    NamedAttrList attrs(op->getAttrDictionary());
    attrs.erase(kMayLack);
    if (!hasActivation)
      attrs.erase("activation");
    SmallVector<Value> ins{buffer(op->getOperand(0)),
                           buffer(op->getOperand(1))};
    if (auto forward = dyn_cast<ir::MatmulActivationOp>(op)) {
      attrs.set("has_bias", b.getI64IntegerAttr(bool(forward.getBias())));
      if (Value bias = forward.getBias())
        ins.push_back(buffer(bias));
    }
    mark(exec::CallOp::create(b, loc, "matmul", ins, buffer(y),
                              attrs.getDictionary(b.getContext())));
  }
  void kernel(ValueRange xs, Value y, Body body) {
    Region cluster;
    OpBuilder in(b.getContext());
    Block *block = in.createBlock(&cluster);
    SmallVector<Value> ins;
    for (Value x : xs) {
      block->addArgument(x.getType(), loc);
      ins.push_back(buffer(x));
    }
    ir::YieldOp::create(in, loc, body(in, block->getArguments()));
    mark(exec::LaunchOp::create(b, loc, kernels.get(cluster, loc).getSymName(),
                                ins, buffer(y)));
  }
  void mark(Operation *made) { made->setAttr(kInstead, group); }

  /// In ops that code generators know.
  static Value meaningOf(Value v) {
    Operation *made = v.getDefiningOp();
    OpBuilder before(made);
    Value meaning =
        cast<ir::DecomposableInterface>(made).decompose(before).front();
    made->erase();
    return meaning;
  }

  OpBuilder &b;
  Operation *op;
  Location loc;
  KernelTable &kernels;
  BufferOf buffer;
  IntegerAttr group;
};

} // namespace

ValueRange operandsOfCall(Operation *op) {
  auto backward = dyn_cast<ir::MatmulActivationBackwardOp>(op);
  return op->getOperands().drop_back(backward && backward.getActivated());
}

void CallsApart::emit(OpBuilder &b, Operation *op, BufferOf buffer) {
  if (auto forward = dyn_cast<ir::MatmulActivationOp>(op)) {
    Writer(b, op, kernels, buffer, nextGroup).write(forward);
    groups[op] = nextGroup++;
    return;
  }
  auto backward = cast<ir::MatmulActivationBackwardOp>(op);
  int64_t group = nextGroup;
  if (backward.getActivated())
    if (auto kept =
            groups.find(ir::viewedBy(backward.getKept()).getDefiningOp());
        kept != groups.end())
      group = kept->second;
  nextGroup = std::max(nextGroup, group + 1);
  Writer(b, op, kernels, buffer, group).write(backward);
}

} // namespace dlc
