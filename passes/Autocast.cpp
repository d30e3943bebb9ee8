// Mixed precision by painting, as TensorFlow's and OneFlow's passes do it
// (lists: each op's cast policy).
//   1. Ops on the allow list compute in half.
//   2. Ops on the deny list stay f32, and so does what lies on a way from one
//   of them, through infer and clear ops, to a
//      deny or infer op.
//   3. Infer and clear ops that are left, with an allow op above and one below
//   them, compute in half.
//   4. Clear ops that touch one in half follow it, in both directions.
//   5. What computes in half gets its operands cast, except those that it pins;
//   the others get f32. One cast per value
//      and type: a weight is cast once a step.
// State, results of the function and casts written by the user are borders;
// constants are rounded here and now.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/CastLists.h"
#include "passes/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using dlc::ir::CastPolicy;
using dlc::ir::elementType;
using dlc::ir::tensorType;

namespace dlc {
#define GEN_PASS_DEF_AUTOCAST
#include "passes/Passes.h.inc"
namespace {

using Ops = llvm::SetVector<Operation *>;

bool isF32(Value v) {
  auto t = dyn_cast<RankedTensorType>(v.getType());
  return t && t.getElementType().isF32();
}
bool changesPrecision(OpOperand &use) {
  auto op = dyn_cast<ir::CastPolicyInterface>(use.getOwner());
  return op && isF32(use.get()) && !op.pinsOperand(use.getOperandNumber());
}
bool changesPrecision(OpResult result) {
  auto op = dyn_cast<ir::CastPolicyInterface>(result.getOwner());
  return op && isF32(result) && !op.pinsResult(result.getResultNumber());
}

/// Steps 1 to 4.
class Painter {
public:
  Painter(func::FuncOp f, const CastLists &lists) {
    for (Operation &op : f.front()) {
      CastPolicy policy = lists.policy(&op);
      bool isFloat =
          llvm::any_of(op.getOpOperands(),
                       [](OpOperand &o) { return changesPrecision(o); }) ||
          llvm::any_of(op.getResults(),
                       [](OpResult r) { return changesPrecision(r); });
      if (isFloat && policy != CastPolicy::Never && !isa<ir::CastOp>(op))
        policies[&op] = policy;
    }
    for (Operation &op : f.front())
      if (policies.contains(&op))
        listed[(int)policies[&op]].insert(&op);
  }

  /// The ops that compute in half.
  Ops paint() const {
    const Ops &allow = list(CastPolicy::Allow), &deny = list(CastPolicy::Deny);
    auto isClear = [&](Operation *op) { return is(op, CastPolicy::Clear); };
    auto isInfer = [&](Operation *op) { return is(op, CastPolicy::Infer); };

    Ops sensitive = deny;
    sensitive.insert(list(CastPolicy::Infer).begin(),
                     list(CastPolicy::Infer).end());
    Ops towards = reach(sensitive, /*forward=*/false, isClear);
    Ops denied = reach(deny, /*forward=*/true, [&](Operation *op) {
      return isInfer(op) || (isClear(op) && towards.contains(op));
    });

    auto follows = [&](Operation *op) {
      return (isInfer(op) || isClear(op)) && !denied.contains(op);
    };
    Ops below = reach(allow, true, follows),
        above = reach(allow, false, follows);
    Ops half = allow;
    for (Operation *op : below)
      if (above.contains(op))
        half.insert(op);

    auto touches = [&](Operation *op) {
      return isClear(op) && !denied.contains(op);
    };
    half = reach(half, true, touches);
    return reach(half, false, touches);
  }

private:
  const Ops &list(CastPolicy p) const { return listed[(int)p]; }
  bool is(Operation *op, CastPolicy p) const {
    auto found = policies.find(op);
    return found != policies.end() && found->second == p;
  }

  /// `from` and what follows (or precedes) it along f32 values through ops that
  /// `through` accepts.
  Ops reach(const Ops &from, bool forward,
            llvm::function_ref<bool(Operation *)> through) const {
    Ops reached = from;
    for (size_t i = 0; i < reached.size(); ++i) {
      auto visit = [&](Operation *op) {
        if (op && through(op))
          reached.insert(op);
      };
      Operation *op = reached[i];
      if (!forward)
        for (OpOperand &operand : op->getOpOperands())
          if (auto result = dyn_cast<OpResult>(operand.get());
              changesPrecision(operand) && result)
            if (changesPrecision(result))
              visit(result.getOwner());
      if (forward)
        for (OpResult result : op->getResults())
          if (changesPrecision(result))
            for (OpOperand &use : result.getUses())
              if (changesPrecision(use))
                visit(use.getOwner());
    }
    return reached;
  }

  llvm::DenseMap<Operation *, CastPolicy> policies;
  Ops listed[ir::getMaxEnumValForCastPolicy() + 1];
};

/// Rounds to `type`; a finite number beyond its range (a mask of -1e9) becomes
/// the last one inside.
llvm::APFloat round(llvm::APFloat x, FloatType type) {
  const llvm::fltSemantics &to = type.getFloatSemantics();
  bool wasFinite = x.isFinite(), inexact;
  x.convert(to, llvm::APFloat::rmNearestTiesToEven, &inexact);
  return wasFinite && !x.isFinite()
             ? llvm::APFloat::getLargest(to, x.isNegative())
             : x;
}

/// Step 5. Ops are visited in order, so an operand has its final type before
/// its users are.
class Rewriter {
public:
  Rewriter(func::FuncOp f, FloatType halfType)
      : f(f), halfType(halfType), f32(Float32Type::get(f.getContext())),
        builder(f.getContext()) {}

  void run(const Ops &half) {
    // Only operands that were f32 are decided about.
    SmallVector<OpOperand *> operands;
    for (Operation &op : f.front())
      for (OpOperand &operand : op.getOpOperands())
        if (isF32(operand.get()))
          operands.push_back(&operand);
    SmallVector<bool> wantsHalf;
    for (OpOperand *operand : operands)
      wantsHalf.push_back(half.contains(operand->getOwner()) &&
                          changesPrecision(*operand));
    for (Operation *op : half)
      retype(op);
    for (auto [operand, isHalf] : llvm::zip(operands, wantsHalf))
      operand->set(as(operand->get(), isHalf ? halfType : f32));
  }

private:
  void retype(Operation *op) {
    for (OpResult r : op->getResults())
      if (changesPrecision(r))
        r.setType(tensorType(r).clone(halfType));
    if (auto pad = dyn_cast<ir::PadOp>(op))
      pad.setValue(widen(round(pad.getValue(), halfType)));
  }
  static llvm::APFloat widen(llvm::APFloat x) {
    bool inexact;
    x.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
              &inexact);
    return x;
  }

  Value as(Value v, FloatType element) {
    if (elementType(v) == element)
      return v;
    Value &made = casts[v];
    if (!made)
      made = convert(v, element);
    return made;
  }
  Value convert(Value v, FloatType element) {
    builder.setInsertionPointAfterValue(v);
    auto type = tensorType(v).clone(element);
    auto constant = v.getDefiningOp<ir::ConstantOp>();
    if (auto dense = constant
                         ? dyn_cast<DenseFPElementsAttr>(constant.getValue())
                         : DenseFPElementsAttr()) {
      auto bits = [&](const llvm::APFloat &x) {
        return round(x, element).bitcastToAPInt();
      };
      return ir::ConstantOp::create(builder, v.getLoc(), type,
                                    dense.mapValues(element, bits));
    }
    return ir::CastOp::create(builder, v.getLoc(), type, v);
  }

  func::FuncOp f;
  FloatType halfType, f32;
  OpBuilder builder;
  llvm::DenseMap<Value, Value>
      casts; // a value is wanted in at most one other type
};

struct Autocast : impl::AutocastBase<Autocast> {
  using AutocastBase::AutocastBase;

  void runOnOperation() final {
    if (dtype != "bf16" && dtype != "fp16") {
      getOperation().emitError() << "autocast to '" << dtype
                                 << "' is not known, expected bf16 or fp16";
      return signalPassFailure();
    }
    bool fp16 = dtype == "fp16";
    auto lists = CastLists::get(getOperation(), fp16, allow, deny);
    if (failed(lists))
      return signalPassFailure();
    FloatType half = fp16 ? FloatType(Float16Type::get(&getContext()))
                          : BFloat16Type::get(&getContext());
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (!f.isExternal())
        Rewriter(f, half).run(Painter(f, *lists).paint());
  }
};

} // namespace

std::unique_ptr<Pass> createAutocast(const AmpOptions &o) {
  AutocastOptions options;
  options.dtype = o.dtype;
  options.allow.assign(o.allow.begin(), o.allow.end());
  options.deny.assign(o.deny.begin(), o.deny.end());
  return createAutocast(options);
}

} // namespace dlc
