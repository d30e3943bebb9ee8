// SPDX-License-Identifier: Apache-2.0
// Fuses attention as exporters write it into dlc.attention. The match starts at
// the product with v and goes up: softmax, masks and factors in any equivalent
// order, the product of q and k.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Passes.h"
#include "passes/attention/Attention.h"
#include "passes/attention/Triangle.h"
#include "passes/canonicalize/CanonicalizePatterns.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::tensorType;

namespace dlc {
#define GEN_PASS_DEF_FUSEATTENTION
#include "passes/Passes.h.inc"

namespace {

/// Masked scores of at most this are equal to -inf in a softmax with others.
constexpr double kNever = -1e9;

/// A mask of the scores: added, or `fill` where a condition is `hides`.
struct Mask {
  Value value;
  std::optional<double> fill;
  bool hides = false;
};

struct Match {
  Value q, k, v; // k and v as they are multiplied, maybe transposed
  bool kIsTransposed = false, vIsTransposed = false;
  double scale = 1;
  SmallVector<Mask> masks;
  SmallVector<Location> locations;
};

/// softmax(x) from softmax(x), with NaN replaced by 0 or not.
ir::SoftmaxOp softmaxOf(Value p) {
  if (auto softmax = p.getDefiningOp<ir::SoftmaxOp>())
    return softmax->hasOneUse() ? softmax : ir::SoftmaxOp();
  auto select = p.getDefiningOp<ir::SelectOp>();
  auto isNan = select ? select.getCondition().getDefiningOp<ir::CompareOp>()
                      : ir::CompareOp();
  if (!isNan || isNan.getPredicate() != ir::Predicate::ne ||
      isNan.getA() != isNan.getB() || isNan.getA() != select.getB() ||
      splatOf(select.getA()) != 0.0 || !select->hasOneUse() ||
      !isNan->hasOneUse())
    return {};
  auto softmax = select.getB().getDefiningOp<ir::SoftmaxOp>();
  bool others = softmax && llvm::any_of(softmax->getUsers(), [&](Operation *u) {
                  return u != select && u != isNan;
                });
  return others ? ir::SoftmaxOp() : softmax;
}

bool isBare(ir::MatmulOp op) {
  return !op.getBias() && !op.getTransA() && !op.getActivation();
}

/// Whether both have the same batch dimensions.
bool haveSameBatch(ShapedType a, ShapedType b) {
  return a.getRank() == b.getRank() &&
         a.getShape().drop_back(2) == b.getShape().drop_back(2);
}
/// Whether those of `a` broadcast to those of `b`: all queries of a sample may
/// share one head of keys and values.
bool fitsBatch(ShapedType a, ShapedType b) {
  return a.getRank() == b.getRank() &&
         llvm::all_of(llvm::zip(a.getShape().drop_back(2), b.getShape()),
                      [](auto sizes) {
                        auto [own, whole] = sizes;
                        return own == 1 || own == whole;
                      });
}

bool takeProduct(ir::MatmulOp product, Match &m) {
  auto [fq, q] = takeOffScale(product.getA());
  auto [fk, k] = takeOffScale(product.getB());
  if (!isBare(product) || q.getType() != product.getA().getType() ||
      k.getType() != product.getB().getType())
    return false;
  m.q = q, m.k = k;
  m.kIsTransposed = !product.getTransB();
  m.scale *= fq * fk;
  return true;
}

/// Matches the scores down to the product of q and k.
bool takeScores(Value s, Match &m) {
  Operation *op = s.getDefiningOp();
  if (!op || !op->hasOneUse())
    return false;
  m.locations.push_back(op->getLoc());
  auto same = [&](Value v) { return v.getType() == s.getType(); };
  /// A mask inside of a scaling would have to be scaled.
  auto masked = [&](Value scores, Mask mask) {
    Match inner = m;
    inner.masks.push_back(mask);
    if (m.scale != 1 || !same(scores) || !takeScores(scores, inner))
      return false;
    m = std::move(inner);
    return true;
  };
  if (auto add = dyn_cast<ir::AddOp>(op))
    return masked(add.getA(), {add.getB(), {}}) ||
           masked(add.getB(), {add.getA(), {}});
  if (auto select = dyn_cast<ir::SelectOp>(op)) {
    if (auto fill = splatOf(select.getB()))
      return masked(select.getA(), {select.getCondition(), fill, false});
    if (auto fill = splatOf(select.getA()))
      return masked(select.getB(), {select.getCondition(), fill, true});
    return false;
  }
  if (auto product = dyn_cast<ir::MatmulOp>(op))
    return takeProduct(product, m);
  auto [factor, inner] = takeOffScale(s);
  if (inner == s || !same(inner))
    return false;
  m.scale *= factor;
  return takeScores(inner, m);
}

std::optional<Match> match(ir::MatmulOp op) {
  auto p = tensorType(op.getA()), v = tensorType(op.getB());
  if (!isBare(op) || (p.getRank() != 3 && p.getRank() != 4) ||
      !p.hasStaticShape() || !v.hasStaticShape() || !fitsBatch(v, p))
    return std::nullopt;
  auto softmax = softmaxOf(op.getA());
  if (!softmax || int64_t(softmax.getAxis()) != p.getRank() - 1)
    return std::nullopt;
  Match m;
  m.locations = {op.getLoc(), softmax.getLoc()};
  m.v = op.getB();
  m.vIsTransposed = op.getTransB();
  if (!takeScores(softmax.getX(), m) || !std::isfinite(m.scale))
    return std::nullopt;
  if (!haveSameBatch(tensorType(m.q), p) || !fitsBatch(tensorType(m.k), p))
    return std::nullopt;
  return m;
}

/// Whether `v` does not depend on a parameter, as required of a mask, which has
/// no gradient. Long expressions are assumed to.
bool isFixed(Value v, const SymbolTable &symbols) {
  constexpr size_t kMost = 2048;
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> work{v};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    auto read = dyn_cast<ir::ReadOp>(op);
    auto state =
        read ? symbols.lookup<ir::StateOp>(read.getState()) : ir::StateOp();
    if (seen.size() > kMost || (state && state.getTrainable()))
      return false;
    work.append(op->operand_begin(), op->operand_end());
  }
  return true;
}

/// Builds the op of a match.
class Fusion {
public:
  Fusion(ir::MatmulOp op, const Match &m, const SymbolTable &symbols,
         OpBuilder &builder)
      : op(op), m(m), symbols(symbols),
        at(builder, FusedLoc::get(op.getContext(), m.locations),
           op.getResult()) {}

  /// Whether it is causal, and all other masks as one additive mask, or null.
  /// Fails if a mask depends on a parameter.
  LogicalResult takeMasks() {
    for (const Mask &mask : m.masks) {
      if (isCausal(mask)) {
        causal = true;
        continue;
      }
      if (!isFixed(mask.value, symbols))
        return failure();
      added.push_back(mask);
    }
    return success();
  }

  ir::AttentionDims dims() {
    ir::Ints scores = tensorType(op.getA()).getShape();
    return {.batch = scores[0],
            .heads = scores.size() == 4 ? scores[1] : 1,
            .queries = scores.end()[-2],
            .keys = scores.back(),
            .depth = tensorType(m.q).getShape().back(),
            .valueDepth = tensorType(op.getY()).getShape().back(),
            .causal = causal};
  }

  Location location() const { return at.loc; }

  Value build() {
    Expr q = fourDims(expr(m.q)),
         k = fourDims(ofAllHeads(untransposed(m.k, m.kIsTransposed))),
         v = fourDims(ofAllHeads(untransposed(m.v, m.vIsTransposed)));
    Value mask = buildMask();
    Expr y = at.make<ir::AttentionOp>(q.v, k.v, v.v, mask,
                                      llvm::APFloat(m.scale), causal, "bhtd");
    return y.reshape(tensorType(op.getY()).getShape());
  }

private:
  Expr expr(Value v) const { return Expr(*at.b, at.loc, v); }

  /// Whether a triangle masks what is above the diagonal. A finite value only
  /// masks if nothing else is added to it.
  bool isCausal(const Mask &mask) const {
    auto t = triangleOf(mask.value, symbols);
    if (!t)
      return false;
    if (mask.fill) {
      if ((t->seen != 0) == mask.hides || (t->unseen != 0) != mask.hides)
        return false;
      t = Triangle{0, *mask.fill};
    }
    bool finite = std::isfinite(t->unseen);
    return t->seen == 0 && t->unseen <= kNever &&
           (!finite || m.masks.size() == 1);
  }

  /// [.., T, D] of a value that may be [.., D, T]. Exporters transpose k after
  /// a reshape that merges batch and heads.
  Expr untransposed(Value v, bool isTransposed) const {
    if (!isTransposed)
      return expr(v);
    SmallVector<int64_t> shape(tensorType(v).getShape());
    const int64_t rank = shape.size();
    std::swap(shape[rank - 1], shape[rank - 2]);
    if (auto joined = v.getDefiningOp<ir::ReshapeOp>())
      if (auto swapped = joined.getX().getDefiningOp<ir::TransposeOp>())
        if (tensorType(swapped.getY()).getShape().take_back(2) ==
                tensorType(v).getShape().take_back(2) &&
            swapsLastTwo(swapped.getPerm()))
          return expr(source(swapped.getX(), shape)).reshape(shape);
    SmallVector<int64_t> perm = ir::axesBetween(0, rank);
    std::swap(perm[rank - 1], perm[rank - 2]);
    if (auto from = v.getDefiningOp<ir::TransposeOp>()) {
      for (int64_t &p : perm)
        p = from.getPerm()[p];
      v = from.getX();
    }
    if (llvm::is_sorted(perm))
      return expr(v);
    return at.make<ir::TransposeOp>(v, perm);
  }
  static bool swapsLastTwo(ir::Ints perm) {
    SmallVector<int64_t> identity(perm);
    std::swap(identity[perm.size() - 1], identity[perm.size() - 2]);
    return llvm::is_sorted(identity);
  }
  /// The operand of a reshape, if it has the given shape.
  static Value source(Value v, ir::Ints shape) {
    auto reshape = v.getDefiningOp<ir::ReshapeOp>();
    return reshape && tensorType(reshape.getX()).getShape() == shape
               ? reshape.getX()
               : v;
  }

  /// With the batch dimensions of the scores.
  Expr ofAllHeads(Expr x) {
    const auto scores = tensorType(op.getA());
    if (haveSameBatch(x.type(), scores))
      return x;
    SmallVector<int64_t> shape(scores.getShape());
    llvm::copy(x.shape().take_back(2), shape.end() - 2);
    return x.broadcast(shape);
  }
  /// [N, T, D] as [N, 1, T, D].
  static Expr fourDims(Expr x) {
    SmallVector<int64_t> shape(x.shape());
    if (shape.size() == 3)
      shape.insert(shape.begin() + 1, 1);
    return x.reshape(shape);
  }
  Value buildMask() {
    std::optional<Expr> sum;
    for (const Mask &mask : added) {
      Expr x = expr(mask.value);
      if (mask.fill) {
        auto type = RankedTensorType::get({}, ir::elementType(op.getY()));
        Expr zero = at.make<ir::ConstantOp>(0.0, type);
        Expr fill = at.make<ir::ConstantOp>(*mask.fill, type);
        x = mask.hides ? select(x, fill, zero) : select(x, zero, fill);
      }
      sum = sum ? *sum + x : x;
    }
    if (!sum)
      return nullptr;
    SmallVector<int64_t> shape(sum->shape());
    if (tensorType(op.getY()).getRank() == 3 && shape.size() == 3)
      shape.insert(shape.begin() + 1, 1);
    while (shape.size() < 4)
      shape.insert(shape.begin(), 1);
    return sum->reshape(shape);
  }

  ir::MatmulOp op;
  const Match &m;
  const SymbolTable &symbols;
  Expr at;
  bool causal = false;
  SmallVector<Mask> added;
};

struct FusePattern : OpRewritePattern<ir::MatmulOp> {
  FusePattern(MLIRContext *context, const SymbolTable &symbols,
              const Target &target, const StepOptions &options, Placer &placer)
      : OpRewritePattern(context), symbols(symbols), target(target),
        options(options), placer(placer) {}

  LogicalResult matchAndRewrite(ir::MatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto m = match(op);
    if (!m)
      return failure();
    Fusion fusion(op, *m, symbols, rewriter);
    if (failed(fusion.takeMasks()))
      return failure();
    // Unsupported attention is fused, too: dlc-place-attention reports why.
    const Ways ways = waysOfAttention(target, fusion.dims(), Type(), options);
    if (placer.choose("attention", fusion.location(), ways).by ==
        By::Decomposed)
      return failure();
    rewriter.replaceOp(op, fusion.build());
    return success();
  }

  /// Records the attentions of `f` that were not fused.
  LogicalResult noteLeft(func::FuncOp f) const {
    for (auto op : f.getOps<ir::MatmulOp>()) {
      OpBuilder builder(op);
      auto m = match(op);
      std::optional<Fusion> fusion;
      if (!m || failed(fusion.emplace(op, *m, symbols, builder).takeMasks()))
        continue;
      const Ways ways =
          waysOfAttention(target, fusion->dims(), Type(), options);
      if (failed(placer.take(
              "attention", op,
              placer.choose("attention", fusion->location(), ways), ways)))
        return failure();
    }
    return success();
  }

  const SymbolTable &symbols;
  const Target &target;
  const StepOptions &options;
  Placer &placer;
};

/// Attention of transposes of [B, T, H, D] becomes one of layout bthd.
struct AbsorbTransposes : OpRewritePattern<ir::AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::AttentionOp op,
                                PatternRewriter &rewriter) const override {
    const SmallVector<int64_t> swap{0, 2, 1, 3};
    Value sources[3];
    for (int i = 0; i < 3; ++i) {
      auto transpose = op->getOperand(i).getDefiningOp<ir::TransposeOp>();
      if (!transpose || transpose.getPerm() != ir::Ints(swap))
        return failure();
      sources[i] = transpose.getX();
    }
    if (op.getLayout() != "bhtd")
      return failure();
    Expr q(rewriter, op.getLoc(), sources[0]);
    Expr y = q.make<ir::AttentionOp>(q.v, sources[1], sources[2], op.getMask(),
                                     op.getScale(), op.getCausal(), "bthd");
    Value lse = y.v.getDefiningOp()->getResult(1);
    rewriter.replaceOp(op, {y.make<ir::TransposeOp>(y.v, swap).v, lse});
    return success();
  }
};

struct FuseAttention : impl::FuseAttentionBase<FuseAttention> {
  FuseAttention() {
    reads<&StepOptions::placement, &StepOptions::target, &StepOptions::amp>();
  }

  void runOnOperation() final {
    const auto target = makeTarget(options.target);
    if (!mayAttend(options, *target))
      return;
    SymbolTable symbols(getOperation());
    RewritePatternSet set(&getContext());
    Placer placer(*target, options.placement);
    auto fuse = std::make_unique<FusePattern>(&getContext(), symbols, *target,
                                              options, placer);
    const FusePattern &fused = *fuse;
    set.add(std::move(fuse));
    set.add<AbsorbTransposes>(&getContext());
    ir::TransposeOp::getCanonicalizationPatterns(set, &getContext());
    FrozenRewritePatternSet patterns(std::move(set));
    for (auto f : getOperation().getOps<func::FuncOp>())
      if (failed(applyPatternsGreedily(f, patterns)) ||
          failed(fused.noteLeft(f)))
        return signalPassFailure();
    placer.leaveNotes(getOperation());
  }
};

} // namespace

} // namespace dlc
