// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters. Weights become constants; beside each target's product
// there is a second product through two small trained matrices, as in peft:
//   y = W x + alpha / rank B (A x),  A from kaiming_uniform(sqrt 5), B zeros
// Other readers of W, such as a lookup or a transposed product, read W + alpha
// / rank B A, which is also the weight that an export writes. W may be
// dequantised from a frozen state of integers; its adapters then are named
// after that state.
#include "compiler/dialect/Locations.h"
#include "passes/Passes.h"
#include "passes/Step.h"
#include "runtime/base/options/Pattern.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_INSERTLORA
#include "passes/Passes.h.inc"
namespace {

using ir::Expr;

/// A weight with adapters; a matrix may be [in, out].
struct Adapted {
  ir::StateOp weight;
  Value value; // the state's value, or its dequantised value
  bool inputsFirst = false, isRead = true;
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
    llvm::MapVector<Operation *, Adapted> chosen; // by weight
    findQuantized(step);
    for (Operation &op : predict.front())
      if (std::optional<Adapted> target = targetOf(&op, step)) {
        llvm::append_range(names, namesOf(target->weight));
        if (!target->isRead)
          decoded[target->weight].insert(target->value);
        if (!isTarget(&op, target->weight))
          continue;
        chosen.insert({target->weight, *target});
        products.insert(&op);
      }
    if (chosen.empty())
      return predict.emitError()
             << "--lora: no weight of a matrix product or an ungrouped "
                "convolution matches --lora-targets"
             << nearbyNames(lora().targets.empty() ? "" : lora().targets[0],
                            names);
    for (auto state : getOperation().getOps<ir::StateOp>())
      if (state.getTrainable() && !matches(kept, state)) {
        state.setTrainable(false);
        state.setRole(ir::Role::constant);
      }
    SmallVector<Attribute> adapters;
    for (const auto &[weight, target] : chosen)
      if (failed(adapt(target, step, adapters)))
        return failure();
    getOperation()->setAttr("dlc.adapters",
                            ArrayAttr::get(&getContext(), adapters));
    getOperation().emitRemark() << "adapters of rank " << lora().rank << " on "
                                << chosen.size() << " weights";
    return success();
  }

  /// Finds the values that are computed from constant states only, and the
  /// largest integer state of bytes that each is dequantised from; null: none.
  void findQuantized(Step &step) {
    for (Operation &op : step.f.front()) {
      ir::StateOp codes;
      if (auto read = dyn_cast<ir::ReadOp>(op)) {
        auto state = step.findState(read.getState());
        if (!state || state.getRole() != ir::Role::constant)
          continue;
        if (state.getTensorType().getElementType().isInteger(8))
          codes = state;
      } else if (!isMemoryEffectFree(&op) ||
                 !llvm::all_of(op.getOperands(), [&](Value v) {
                   return quantized.contains(v);
                 })) {
        continue;
      }
      for (Value v : op.getOperands())
        if (ir::StateOp other = quantized.lookup(v);
            other && (!codes || sizeOf(other) > sizeOf(codes)))
          codes = other;
      for (Value v : op.getResults())
        quantized[v] = codes;
    }
  }
  static int64_t sizeOf(ir::StateOp state) {
    return state.getTensorType().getNumElements();
  }

  /// The trained or quantised weight that `op` multiplies its input with,
  /// possibly transposed, unless a pattern of `trained` matches its name.
  std::optional<Adapted> targetOf(Operation *op, Step &step) {
    auto matmul = dyn_cast<ir::MatmulOp>(op);
    auto conv = dyn_cast<ir::ConvOp>(op);
    Value w = matmul                         ? matmul.getB()
              : conv && conv.getGroup() == 1 ? conv.getW()
                                             : Value();
    if (!w)
      return std::nullopt;
    bool inputsFirst = matmul && !matmul.getTransB();
    if (auto transpose = w.getDefiningOp<ir::TransposeOp>();
        matmul && transpose && isSwap(transpose)) {
      w = transpose.getX();
      inputsFirst = !inputsFirst;
    }
    if (matmul && ir::tensorType(w).getRank() != 2)
      return std::nullopt;
    auto read = w.getDefiningOp<ir::ReadOp>();
    auto state = read ? step.findState(read.getState()) : quantized.lookup(w);
    if (!state || (read && !state.getTrainable()) || matches(kept, state))
      return std::nullopt;
    return Adapted{state, w, inputsFirst, bool(read)};
  }
  static StringRef nameOf(ir::StateOp weight) {
    auto own = dyn_cast_or_null<StringAttr>(weight.getInitAttr());
    return own ? own.getValue() : weight.getSymName();
  }
  static bool isSwap(ir::TransposeOp op) {
    return op.getPerm() == ArrayRef<int64_t>{1, 0};
  }
  bool isTarget(Operation *op, ir::StateOp weight) {
    return wanted.empty() ? isa<ir::MatmulOp>(op) : matches(wanted, weight);
  }
  static bool matches(const std::vector<Pattern> &any, ir::StateOp state) {
    return llvm::any_of(namesOf(state),
                        [&](auto &name) { return searchAny(any, name); });
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

  /// Adds A and B and rewrites every reader of the weight.
  LogicalResult adapt(const Adapted &target, Step &step,
                      SmallVectorImpl<Attribute> &adapters) {
    ir::StateOp weight = target.weight;
    Pair pair;
    if (failed(addPair(pair, target, step)))
      return failure();
    adapters.push_back(describe(pair, weight, target.inputsFirst));
    llvm::SetVector<Value> &values = decoded[weight];
    if (target.isRead)
      step.f.walk([&](ir::ReadOp read) {
        if (read.getState() == weight.getSymName())
          values.insert(read);
      });
    llvm::SetVector<StringRef> others;
    for (Value value : values)
      adaptUses(value, pair, target.inputsFirst, others);
    if (!others.empty())
      getOperation().emitRemark()
          << "the adapter of '" << nameOf(weight)
          << "' is added wherever that is read, also by '"
          << llvm::join(others, "', '") << "'; --untie=" << nameOf(weight)
          << " gives each reader a weight of its own";
    return success();
  }

  /// Rewrites uses of a weight, or of a transposed matrix. Readers that support
  /// an adapter beside them get one; the others read the sum. `others`: nodes
  /// of readers that are not targets.
  void adaptUses(Value w, const Pair &pair, bool inputsFirst,
                 llvm::SetVector<StringRef> &others) {
    SmallPtrSet<OpOperand *, 4> adapted;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : w.getUses())
      uses.push_back(&use);
    for (OpOperand *use : llvm::reverse(uses)) { // in the program's order
      Operation *op = use->getOwner();
      if (auto swap = dyn_cast<ir::TransposeOp>(op);
          swap && !w.getDefiningOp<ir::TransposeOp>() && isSwap(swap)) {
        adapted.insert(use);
        adaptUses(swap.getResult(), pair, !inputsFirst, others);
        continue;
      }
      if (addBeside(*use, pair, inputsFirst))
        adapted.insert(use);
      if (!products.count(op))
        others.insert_range(ir::nodeNames(op->getLoc()));
    }
    // `uses` is outdated if an adapter was added to w times w.
    auto isLeft = [&](OpOperand &use) { return !adapted.contains(&use); };
    if (llvm::none_of(w.getUses(), isLeft))
      return;
    Expr sum = adaptedWeight(w, pair, inputsFirst);
    w.replaceUsesWithIf(sum, [&](OpOperand &use) {
      return isLeft(use) && use.getOwner() != sum.v.getDefiningOp();
    });
  }

  /// w + scale * b a.
  Expr adaptedWeight(Value w, const Pair &pair, bool inputsFirst) {
    OpBuilder b(&getContext());
    b.setInsertionPointAfterValue(w);
    Expr a = read(b, w.getLoc(), pair.a), up = read(b, w.getLoc(), pair.b);
    const int64_t rank = lora().rank;
    up = up.reshape({up.shape()[0], rank});
    a = a.reshape({rank, a.type().getNumElements() / rank});
    Expr product = inputsFirst ? matmul(a, up, true, true) : matmul(up, a);
    Expr shaped = product.reshape(ir::tensorType(w).getShape());
    return Expr(b, w.getLoc(), w) + shaped * scale();
  }

  /// Adds the adapter's result for the reader's input to the reader's result;
  /// false for readers without a form below.
  bool addBeside(OpOperand &use, const Pair &pair, bool inputsFirst) {
    Operation *op = use.getOwner();
    auto matmul = dyn_cast<ir::MatmulOp>(op);
    auto conv = dyn_cast<ir::ConvOp>(op);
    auto gather = dyn_cast<ir::GatherOp>(op);
    bool multiplies = use.getOperandNumber() == 1 &&
                      (matmul || (conv && conv.getGroup() == 1));
    bool looksUp = gather && use.getOperandNumber() == 0 &&
                   gather.getAxis() == 0 &&
                   ir::tensorType(use.get()).getRank() == 2 &&
                   ir::tensorType(gather.getY()).getRank() > 1;
    if (!multiplies && !looksUp)
      return false;
    OpBuilder b(op->getBlock(), std::next(op->getIterator()));
    Value y = op->getResult(0);
    Expr a = read(b, op->getLoc(), pair.a), up = read(b, op->getLoc(), pair.b),
         added = a;
    if (matmul)
      added = product(matmul, a, up, inputsFirst);
    else if (conv)
      added = convolve(conv, a, up);
    else
      added = lookUp(gather, a, up, inputsFirst);
    added = added * scale();
    Expr sum = Expr(b, added.loc, y) + added;
    y.replaceAllUsesExcept(sum, sum.v.getDefiningOp());
    return true;
  }

  static Expr read(OpBuilder &b, Location loc, ir::StateOp state) {
    return Expr(
        b, loc,
        ir::ReadOp::create(b, loc, state.getType(), state.getSymName()));
  }
  /// B (A x), or A' (B' x) if the reader uses the layer's weight transposed, as
  /// a tied decoder does.
  static Expr product(ir::MatmulOp op, Expr a, Expr up, bool inputsFirst) {
    Expr x(*a.b, a.loc, op.getA());
    if (inputsFirst != op.getTransB())
      return matmul(matmul(x, a, op.getTransA(), true), up, false, true);
    return matmul(matmul(x, up, op.getTransA()), a);
  }

  /// Rows of B, times A; or of A', times B'.
  static Expr lookUp(ir::GatherOp op, Expr a, Expr up, bool inputsFirst) {
    Expr table = inputsFirst ? transposed(a, {1, 0}) : up;
    Expr rows = table.make<ir::GatherOp>(table.v, op.getIndices(), uint64_t(0),
                                         op.getPaddingAttr());
    return matmul(rows, inputsFirst ? up : a, false, inputsFirst);
  }

  /// A convolution with the window of `op` to `rank` channels, then one of size
  /// 1.
  static Expr convolve(ir::ConvOp op, Expr a, Expr up) {
    Expr inner =
        a.make<ir::ConvOp>(op.getX(), a.v, Value(), op.getStrides(),
                           op.getPads(), op.getDilations(), 1, op.getLayout());
    const SmallVector<int64_t> one(op.getStrides().size(), 1),
        zero(op.getPads().size(), 0);
    return up.make<ir::ConvOp>(inner.v, up.v, Value(), one, zero, one, 1,
                               op.getLayout());
  }

  /// Adds fc.lora_A.weight and fc.lora_B.weight for fc.weight.
  LogicalResult addPair(Pair &pair, const Adapted &target, Step &step) {
    auto type = ir::tensorType(target.value);
    SmallVector<int64_t> down(type.getShape()), up(type.getRank(), 1);
    if (target.inputsFirst)
      std::swap(down[0], down[1]);
    up[0] = down[0];
    up[1] = down[0] = lora().rank;
    std::string base = ir::StateOp(target.weight).getSymName().str();
    if (StringRef(base).ends_with(".weight"))
      base.resize(base.size() - StringRef(".weight").size());
    // The names may be taken by the model, or by adapters of "fc" and
    // "fc.weight".
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

  /// Data for merging: W += scale B A, transposed if inputs come first.
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

  std::vector<Pattern> wanted, kept; // of targets, trained
  llvm::DenseMap<Value, ir::StateOp> quantized;
  llvm::DenseMap<Operation *, llvm::SetVector<Value>> decoded; // by state
  llvm::SmallPtrSet<Operation *, 8> products;                  // of targets
};

} // namespace

} // namespace dlc
