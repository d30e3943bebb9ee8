// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters. Weights become constants; beside each target's product
// stands a second one through two small trained matrices, as peft has it:
//   y = W x + alpha / rank B (A x),  A from kaiming_uniform(sqrt 5), B zeros
#include "passes/Passes.h"
#include "passes/Step.h"
#include "runtime/base/options/Pattern.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_INSERTLORA
#include "passes/Passes.h.inc"
namespace {

using ir::Expr;

/// A product that an adapter can stand beside.
struct Adapted {
  Operation *op;
  ir::StateOp weight;
};

/// A and B of a weight.
struct Pair {
  ir::StateOp a, b;
};

struct InsertLora : impl::InsertLoraBase<InsertLora> {
  InsertLora() { reads<&StepOptions::lora, &StepOptions::random>(); }

  void runOnOperation() final {
    auto predict = findFunction(getOperation(), "predict");
    if (!predict || failed(run(predict)))
      signalPassFailure();
  }

  LogicalResult run(func::FuncOp predict) {
    Step step(predict);
    if (failed(parse("--train", lora().trained, kept)) ||
        failed(parse("--lora-targets", lora().targets, wanted)))
      return failure();
    std::vector<std::string> names;
    SmallVector<Adapted> chosen;
    for (Operation &op : predict.front())
      if (ir::StateOp weight = weightOf(&op, step)) {
        names.push_back(weight.getSymName().str());
        if (isTarget(&op, weight))
          chosen.push_back({&op, weight});
      }
    if (chosen.empty())
      return predict.emitError()
             << "--lora: no weight of a matrix product or an ungrouped "
                "convolution matches --lora-targets"
             << nearbyNames(lora().targets.empty() ? "" : lora().targets[0],
                            names);
    for (auto state : getOperation().getOps<ir::StateOp>())
      if (state.getTrainable() && !searchAny(kept, state.getSymName())) {
        state.setTrainable(false);
        state.setRole(ir::Role::constant);
      }
    SmallVector<Attribute> adapters;
    for (const Adapted &target : chosen)
      if (failed(adapt(target, step, adapters)))
        return failure();
    getOperation()->setAttr("dlc.adapters",
                            ArrayAttr::get(&getContext(), adapters));
    getOperation().emitRemark() << "adapters of rank " << lora().rank << " on "
                                << pairs.size() << " weights";
    return success();
  }

  /// The weight that `op` multiplies its input with, if it is one that no
  /// pattern of `trained` names.
  ir::StateOp weightOf(Operation *op, Step &step) {
    Value w;
    if (auto matmul = dyn_cast<ir::MatmulOp>(op))
      w = matmul.getTransA() ? Value() : matmul.getB();
    else if (auto conv = dyn_cast<ir::ConvOp>(op))
      w = conv.getGroup() == 1 ? conv.getW() : Value();
    auto read = w ? w.getDefiningOp<ir::ReadOp>() : ir::ReadOp();
    auto state = read ? step.findState(read.getState()) : ir::StateOp();
    bool matrix =
        state && (isa<ir::ConvOp>(op) || state.getTensorType().getRank() == 2);
    return matrix && !searchAny(kept, state.getSymName()) ? state
                                                          : ir::StateOp();
  }
  bool isTarget(Operation *op, ir::StateOp weight) {
    return wanted.empty() ? isa<ir::MatmulOp>(op)
                          : searchAny(wanted, weight.getSymName());
  }
  LogicalResult parse(const char *flag, const Words &texts,
                      std::vector<Pattern> &patterns) {
    auto parsed = parsePatterns(texts);
    if (!parsed)
      return getOperation().emitError()
             << flag << ": " << parsed.status().message();
    patterns = std::move(*parsed);
    return success();
  }

  LogicalResult adapt(const Adapted &target, Step &step,
                      SmallVectorImpl<Attribute> &adapters) {
    auto matmul = dyn_cast<ir::MatmulOp>(target.op);
    bool inputsFirst = matmul && !matmul.getTransB();
    Pair &pair = pairs[target.weight];
    if (!pair.a) {
      if (failed(addPair(pair, target.weight, inputsFirst, step)))
        return failure();
      adapters.push_back(describe(pair, target.weight, inputsFirst));
    }
    OpBuilder b(target.op->getBlock(), std::next(target.op->getIterator()));
    Value y = target.op->getResult(0);
    auto read = [&](ir::StateOp state) {
      return Expr(b, target.op->getLoc(),
                  ir::ReadOp::create(b, target.op->getLoc(), state.getType(),
                                     state.getSymName()));
    };
    Expr a = read(pair.a), up = read(pair.b), added = a;
    if (matmul) {
      auto product = [&](Value x, Expr w) {
        return w.make<ir::MatmulOp>(x, w.v, Value(), false, true, StringAttr());
      };
      added = product(product(matmul.getA(), a), up);
    } else {
      added = convolve(cast<ir::ConvOp>(target.op), a, up);
    }
    added = added * scale();
    Expr sum = Expr(b, added.loc, y) + added;
    y.replaceAllUsesExcept(sum, sum.v.getDefiningOp());
    return success();
  }

  /// The window of `op` gives `rank` channels, a convolution of size 1 the
  /// outputs.
  static Expr convolve(ir::ConvOp op, Expr a, Expr up) {
    Expr inner =
        a.make<ir::ConvOp>(op.getX(), a.v, Value(), op.getStrides(),
                           op.getPads(), op.getDilations(), 1, op.getLayout());
    const SmallVector<int64_t> one(op.getStrides().size(), 1),
        zero(op.getPads().size(), 0);
    return up.make<ir::ConvOp>(inner.v, up.v, Value(), one, zero, one, 1,
                               op.getLayout());
  }

  /// fc.weight gets fc.lora_A.weight and fc.lora_B.weight.
  LogicalResult addPair(Pair &pair, ir::StateOp weight, bool inputsFirst,
                        Step &step) {
    auto type = weight.getTensorType();
    SmallVector<int64_t> down(type.getShape()), up(type.getRank(), 1);
    if (inputsFirst)
      std::swap(down[0], down[1]);
    up[0] = down[0];
    up[1] = down[0] = lora().rank;
    std::string base = weight.getSymName().str();
    if (StringRef(base).ends_with(".weight"))
      base.resize(base.size() - StringRef(".weight").size());
    // Both "fc" and "fc.weight" may be adapted, or the model may have such
    // names.
    while (step.symbols.lookup(base + ".lora_A.weight") ||
           step.symbols.lookup(base + ".lora_B.weight"))
      base += "'";
    Builder b(&getContext());
    auto kaiming = b.getDictionaryAttr(
        {{b.getStringAttr("kind"),
          b.getStringAttr("kaiming_uniform(2.2360679775)")},
         {b.getStringAttr("seed"), b.getI64IntegerAttr(options.random.seed)}});
    Attribute zero = b.getFloatAttr(type.getElementType(), 0);
    auto add = [&](const char *suffix, ArrayRef<int64_t> shape,
                   Attribute init) {
      auto state = step.addState(base + suffix, type.clone(shape),
                                 ir::Role::param, init);
      if (state)
        state.setTrainable(true);
      return state;
    };
    pair.a = add(".lora_A.weight", down, kaiming);
    pair.b = add(".lora_B.weight", up, zero);
    return success(pair.a && pair.b);
  }

  /// What merging needs: W += scale B A, transposed where inputs come first.
  Attribute describe(const Pair &pair, ir::StateOp weight, bool inputsFirst) {
    Builder b(&getContext());
    auto named = [&](const char *name, Attribute value) {
      return b.getNamedAttr(name, value);
    };
    return b.getDictionaryAttr(
        {named("weight", b.getStringAttr(weight.getSymName())),
         named("a", b.getStringAttr(ir::StateOp(pair.a).getSymName())),
         named("b", b.getStringAttr(ir::StateOp(pair.b).getSymName())),
         named("scale", b.getF64FloatAttr(scale())),
         named("inputs_first", b.getBoolAttr(inputsFirst))});
  }
  const LoraOptions &lora() const { return options.lora; }
  double scale() const { return lora().alpha / double(lora().rank); }

  std::vector<Pattern> wanted, kept;        // of targets, trained
  llvm::MapVector<Operation *, Pair> pairs; // by weight
};

} // namespace

} // namespace dlc
