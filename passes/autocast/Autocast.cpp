// SPDX-License-Identifier: Apache-2.0
// Mixed precision. Ops that compute in half (CastPainter.h) get casts of their
// operands, except pinned ones; other ops get f32. There is one cast per value
// and type: a weight is cast once per step. States, results of the function and
// the user's casts are boundaries; constants are rounded here.
//   With --amp-dtype=fp8 half is bf16, and the products of layers in the
// training step are marked (FloatProducts.h).
//   At level O3 parameters and buffers are half themselves: only pinned or
// denied operands are cast, and values written to states are rounded.
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/autocast/CastPainter.h"
#include "passes/autocast/CastReport.h"
#include "passes/autocast/FloatProducts.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using dlc::ir::elementType;
using dlc::ir::tensorType;

namespace dlc {
#define GEN_PASS_DEF_AUTOCAST
#include "passes/Passes.h.inc"
namespace {

/// Visits ops in order, so an operand has its final type before its users.
class Rewriter {
public:
  Rewriter(func::FuncOp f, FloatType halfType,
           const llvm::StringSet<> &halfStates)
      : f(f), halfType(halfType), f32(Float32Type::get(f.getContext())),
        builder(f.getContext()), halfStates(halfStates) {}

  CastsAdded run(const CastDecisions &decisions) {
    // Decisions apply only to operands that were f32.
    SmallVector<std::pair<OpOperand *, bool>> operands;
    for (Operation &op : f.front()) {
      auto decided = decisions.find(&op);
      bool isHalf = decided != decisions.end() && decided->second.half;
      for (OpOperand &operand : op.getOpOperands())
        if (elementType(operand.get()) == f32)
          operands.push_back({&operand, (isHalf && changesPrecision(operand)) ||
                                            writesHalf(&op)});
    }
    for (const auto &[op, d] : decisions)
      if (d.half)
        retype(op);
    for (auto read : f.getOps<ir::ReadOp>())
      if (halfStates.contains(read.getState()))
        read.getValue().setType(tensorType(read.getValue()).clone(halfType));
    for (auto [operand, isHalf] : operands)
      operand->set(as(*operand, isHalf ? halfType : f32));
    return std::move(added);
  }

private:
  bool writesHalf(Operation *op) const {
    auto write = dyn_cast<ir::WriteOp>(op);
    return write && halfStates.contains(write.getState());
  }

  void retype(Operation *op) {
    for (OpResult r : op->getResults())
      if (changesPrecision(r))
        r.setType(tensorType(r).clone(halfType));
    if (auto pad = dyn_cast<ir::PadOp>(op)) {
      noteRounding(op, pad.getValue());
      pad.setValue(widen(roundInto(pad.getValue(), halfType)));
    }
  }
  static llvm::APFloat widen(llvm::APFloat x) {
    bool inexact;
    x.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
              &inexact);
    return x;
  }
  void noteRounding(Operation *user, const llvm::APFloat &x) {
    if (!isBeyond(x, halfType))
      return;
    auto text = [](const llvm::APFloat &value) {
      SmallString<24> digits;
      value.toString(digits, 6);
      return std::string(digits);
    };
    added.notes[user] =
        "; " + text(x) + " becomes " + text(roundInto(x, halfType));
  }

  Value as(OpOperand &use, FloatType element) {
    Value v = use.get();
    if (elementType(v) == element)
      return v;
    Value &made = casts[v];
    if (!made)
      made = convert(v, element, use.getOwner());
    return made;
  }
  Value convert(Value v, FloatType element, Operation *user) {
    builder.setInsertionPointAfterValue(v);
    auto type = tensorType(v).clone(element);
    auto constant = v.getDefiningOp<ir::ConstantOp>();
    if (auto dense = constant
                         ? dyn_cast<DenseFPElementsAttr>(constant.getValue())
                         : DenseFPElementsAttr()) {
      ++added.constants;
      auto bits = [&](const llvm::APFloat &x) {
        noteRounding(user, x);
        return roundInto(x, element).bitcastToAPInt();
      };
      return ir::ConstantOp::create(builder, v.getLoc(), type,
                                    dense.mapValues(element, bits));
    }
    ++added.total;
    ++added.casts[user];
    added.ofStates += v.getDefiningOp<ir::ReadOp>() != nullptr;
    return ir::CastOp::create(builder, v.getLoc(), type, v);
  }

  func::FuncOp f;
  FloatType halfType, f32;
  OpBuilder builder;
  const llvm::StringSet<> &halfStates;
  llvm::DenseMap<Value, Value>
      casts; // a value is wanted in at most one other type
  CastsAdded added;
};

struct Autocast : impl::AutocastBase<Autocast> {
  Autocast() {
    options.amp.level = "O1";
    reads<&StepOptions::amp>();
  }

  void runOnOperation() final {
    ModuleOp module = getOperation();
    auto lists = CastLists::get(module, options.amp);
    if (failed(lists))
      return signalPassFailure();
    FloatType half = options.amp.dtype == "fp16"
                         ? FloatType(Float16Type::get(&getContext()))
                         : BFloat16Type::get(&getContext());
    llvm::StringSet<> halfStates;
    if (options.amp.level == "O3")
      halfStates = makeHalf(module, half);
    for (auto f : module.getOps<func::FuncOp>()) {
      if (f.isExternal())
        continue;
      CastDecisions decisions = decideCasts(f, *lists, half);
      CastsAdded added = Rewriter(f, half, halfStates).run(decisions);
      const bool isStep = f.getName() == "train_step";
      if (isStep && options.amp.float8())
        markProducts(decisions, added);
      if (isStep && options.amp.explain)
        report(module, explainCasts(f, decisions, added, options.amp.half()));
    }
  }

  /// Nodes that the user wants in half stay there.
  static void markProducts(const CastDecisions &decisions, CastsAdded &added) {
    for (const auto &[op, d] : decisions) {
      auto product = d.half ? dyn_cast<ir::MatmulOp>(op) : ir::MatmulOp();
      if (!product || d.entry.pinned)
        continue;
      const std::string why = whyNoFloat8(product);
      if (!why.empty())
        added.notes[op] += "; no FP8: " + why;
      else {
        setFloat8(product, "e4m3", "e4m3");
        added.float8.insert(op);
      }
    }
  }

  /// Changes states to half and returns their names.
  static llvm::StringSet<> makeHalf(ModuleOp module, FloatType half) {
    llvm::StringSet<> names;
    for (auto state : module.getOps<ir::StateOp>()) {
      bool isModel = state.getRole() == ir::Role::param ||
                     state.getRole() == ir::Role::buffer;
      if (!isModel || !state.getTensorType().getElementType().isF32())
        continue;
      state.setType(state.getTensorType().clone(half));
      names.insert(state.getSymName());
    }
    return names;
  }

  static void report(ModuleOp module, const std::vector<std::string> &lines) {
    SmallVector<StringRef> texts(lines.begin(), lines.end());
    module->setAttr(kCastReport,
                    Builder(module.getContext()).getStrArrayAttr(texts));
  }
};

} // namespace

} // namespace dlc
