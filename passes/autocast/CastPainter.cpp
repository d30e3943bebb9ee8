// SPDX-License-Identifier: Apache-2.0
// Painting, as in TensorFlow's and OneFlow's passes.
//   1. Ops on the allow list compute in half.
//   2. Ops on the deny list stay f32, and so do ops on a path from one of them,
//   through infer and clear ops, to a deny or infer op.
//   3. Remaining infer and clear ops with an allow op above and one below them
//   compute in half.
//   4. Clear ops next to one in half follow it, in both directions.
// Promotion, as in PyTorch's autocast at run time: ops on no list follow their
// inputs, and f32 takes precedence; scalars are ignored.
#include "passes/autocast/CastPainter.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using dlc::ir::CastPolicy;
using dlc::ir::tensorType;

namespace dlc {

static bool isF32(Value v) {
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

llvm::APFloat roundInto(llvm::APFloat x, FloatType type) {
  const llvm::fltSemantics &to = type.getFloatSemantics();
  bool wasFinite = x.isFinite(), inexact;
  x.convert(to, llvm::APFloat::rmNearestTiesToEven, &inexact);
  return wasFinite && !x.isFinite()
             ? llvm::APFloat::getLargest(to, x.isNegative())
             : x;
}
bool isBeyond(const llvm::APFloat &x, FloatType type) {
  llvm::APFloat rounded = x;
  bool inexact;
  rounded.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                  &inexact);
  return x.isFinite() && !rounded.isFinite();
}

namespace {

/// Ops, each with the op that it was reached from.
using Reached = llvm::MapVector<Operation *, Operation *>;

/// Values that are constants outside half's range, or were selected from such
/// constants without arithmetic.
class LargeValues {
public:
  LargeValues(func::FuncOp f, FloatType half) {
    llvm::StringSet<> states;
    for (auto state : f->getParentOfType<ModuleOp>().getOps<ir::StateOp>())
      if (auto largest = state->getAttrOfType<FloatAttr>("dlc.largest"))
        if (isBeyond(largest.getValue(), half))
          states.insert(state.getSymName());
    for (Operation &op : f.front()) {
      auto read = dyn_cast<ir::ReadOp>(op);
      bool isLarge = read && states.contains(read.getState());
      if (isLarge)
        reads.insert(read.getValue());
      if (isLarge || makesLarge(&op, half) || passesLarge(&op))
        values.insert(op.result_begin(), op.result_end());
    }
  }
  /// Whether a cast of an operand would overflow when the step runs.
  bool reachUncast(Operation *op) const {
    return llvm::any_of(op->getOperands(),
                        [&](Value v) { return reads.contains(v); });
  }
  bool reach(Operation *op) const {
    return llvm::any_of(op->getOperands(),
                        [&](Value v) { return values.contains(v); });
  }

private:
  static bool makesLarge(Operation *op, FloatType half) {
    if (auto pad = dyn_cast<ir::PadOp>(op))
      return isBeyond(pad.getValue(), half);
    auto constant = dyn_cast<ir::ConstantOp>(op);
    auto dense = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue())
                          : DenseFPElementsAttr();
    if (!dense)
      return false;
    if (dense.isSplat())
      return isBeyond(dense.getSplatValue<llvm::APFloat>(), half);
    return llvm::any_of(
        dense.getValues<llvm::APFloat>(),
        [&](const llvm::APFloat &x) { return isBeyond(x, half); });
  }
  /// A bound of max or min is seldom the result.
  bool passesLarge(Operation *op) const {
    auto policy = dyn_cast<ir::CastPolicyInterface>(op);
    return policy && policy.castPolicy(false) == CastPolicy::Clear &&
           !isa<ir::MaxOp, ir::MinOp>(op) && reach(op);
  }
  llvm::DenseSet<Value> values, reads;
};

class Painter {
public:
  Painter(func::FuncOp f, const CastLists &lists, FloatType half)
      : f(f), lists(lists) {
    LargeValues large(f, half);
    for (Operation &op : f.front()) {
      CastDecision d;
      d.entry = lists.entry(&op);
      bool isFloat =
          llvm::any_of(op.getOpOperands(),
                       [](OpOperand &o) { return changesPrecision(o); }) ||
          llvm::any_of(op.getResults(),
                       [](OpResult r) { return changesPrecision(r); });
      if (!isFloat || d.entry.policy == CastPolicy::Never ||
          isa<ir::CastOp>(op))
        continue;
      d.half = d.entry.policy == CastPolicy::Allow;
      // Sums with fp16's largest number may overflow; bf16 has the range of
      // f32.
      bool overflows =
          large.reachUncast(&op) ||
          (lists.isFp16() && isArithmetic(&op) && large.reach(&op));
      if (overflows && !d.entry.asked) {
        d.half = false;
        d.rule = CastRule::Overflow;
        d.entry.policy = CastPolicy::Deny;
      }
      decisions[&op] = d;
    }
  }

  CastDecisions run() {
    if (lists.promotes())
      promote();
    else
      paint();
    return std::move(decisions);
  }

private:
  static bool isArithmetic(Operation *op) {
    return isa<ir::ElementwiseInterface>(op) &&
           cast<ir::CastPolicyInterface>(op).castPolicy(false) !=
               CastPolicy::Clear;
  }

  void paint() {
    Reached allow = listed(CastPolicy::Allow), deny = listed(CastPolicy::Deny);
    Reached denied = spread(deny);
    auto follows = [&](Operation *op) {
      return !denied.contains(op) &&
             (is(op, CastPolicy::Infer) || is(op, CastPolicy::Clear));
    };
    Reached below = reach(allow, true, follows),
            above = reach(allow, false, follows), tails;
    if (lists.paintsTails())
      tails = reach(sinks(follows), false, follows);
    Reached half = allow;
    for (auto [op, from] : below)
      if (!allow.contains(op) && (above.contains(op) || tails.contains(op))) {
        half[op] = from;
        Operation *to = above.lookup(op);
        decide(op, true, to ? CastRule::Between : CastRule::Tail, from, to);
      }
    auto touches = [&](Operation *op) {
      return is(op, CastPolicy::Clear) && !denied.contains(op);
    };
    half = reach(reach(half, true, touches), false, touches);
    for (auto &[op, d] : decisions) {
      if (d.half)
        continue;
      if (half.contains(op))
        decide(op, true, CastRule::Follows, half.lookup(op));
      else if (Operation *by = denied.lookup(op); by && by != op)
        decide(op, false, CastRule::Behind, by);
      else if (follows(op))
        decide(op, false,
               below.contains(op) ? CastRule::NotAbove : CastRule::NotBelow);
    }
  }
  /// Step 2.
  Reached spread(const Reached &deny) const {
    auto isClear = [&](Operation *op) { return is(op, CastPolicy::Clear); };
    Reached sensitive = listed(CastPolicy::Infer);
    for (auto [op, from] : deny)
      sensitive[op] = from;
    Reached towards = reach(sensitive, false, isClear);
    return reach(deny, true, [&](Operation *op) {
      return is(op, CastPolicy::Infer) || (isClear(op) && towards.contains(op));
    });
  }
  /// Ops whose results are not used by an op that autocast decides about.
  Reached sinks(llvm::function_ref<bool(Operation *)> among) const {
    Reached found;
    for (const auto &[op, d] : decisions)
      if (among(op) && llvm::none_of(op->getUsers(), [&](Operation *user) {
            auto used = decisions.find(user);
            return used != decisions.end() && !used->second.entry.pinned;
          }))
        found[op] = op;
    return found;
  }

  void decide(Operation *op, bool half, CastRule rule,
              Operation *from = nullptr, Operation *to = nullptr) {
    CastDecision &d = decisions[op];
    d.half = half;
    d.rule = rule;
    d.from = from;
    d.to = to;
  }

  bool is(Operation *op, CastPolicy policy) const {
    auto found = decisions.find(op);
    return found != decisions.end() && !found->second.entry.pinned &&
           found->second.entry.policy == policy;
  }
  Reached listed(CastPolicy policy) const {
    Reached ops;
    for (const auto &[op, d] : decisions)
      if (d.entry.policy == policy &&
          (policy == CastPolicy::Allow || !d.entry.pinned))
        ops[op] = op;
    return ops;
  }

  /// `from` and its successors (or predecessors) along f32 values through ops
  /// that `through` accepts.
  Reached reach(Reached reached, bool forward,
                llvm::function_ref<bool(Operation *)> through) const {
    for (size_t i = 0; i < reached.size(); ++i) {
      auto [op, root] = reached.begin()[i];
      auto visit = [&, root = root](Operation *next) {
        if (through(next))
          reached.try_emplace(next, root);
      };
      if (!forward)
        for (OpOperand &operand : op->getOpOperands())
          if (auto result = dyn_cast<OpResult>(operand.get());
              result && changesPrecision(operand) && changesPrecision(result))
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

  void promote() {
    llvm::DenseSet<Value> halves;
    for (auto &[op, d] : decisions) {
      if (llvm::is_contained({CastPolicy::Infer, CastPolicy::Clear},
                             d.entry.policy)) {
        OpOperand *wide = nullptr;
        bool anyHalf = false;
        for (OpOperand &use : op->getOpOperands())
          if (changesPrecision(use)) {
            bool isHalf = halves.contains(use.get());
            anyHalf |= isHalf;
            if (!isHalf && !isScalar(use.get()) && !wide)
              wide = &use;
          }
        d.half = anyHalf && !wide;
        d.rule = anyHalf && wide ? CastRule::Promoted : CastRule::Inputs;
        d.from = d.rule == CastRule::Promoted ? wide->get().getDefiningOp()
                                              : nullptr;
      }
      if (d.half)
        for (OpResult result : op->getResults())
          if (changesPrecision(result))
            halves.insert(result);
    }
  }
  static bool isScalar(Value v) {
    return tensorType(v).hasStaticShape() &&
           (tensorType(v).getRank() == 0 ||
            (tensorType(v).getNumElements() == 1 &&
             v.getDefiningOp<ir::ConstantOp>()));
  }

  func::FuncOp f;
  const CastLists &lists;
  CastDecisions decisions;
};

} // namespace

CastDecisions decideCasts(func::FuncOp f, const CastLists &lists,
                          FloatType half) {
  return Painter(f, lists, half).run();
}

} // namespace dlc
