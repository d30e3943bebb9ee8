// SPDX-License-Identifier: Apache-2.0
// The gradient of an embedding table is zero except in the rows that the step
// looked up. This pass replaces it by those rows and their indices: all later
// ops (clipping, loss scale, ranks, update) then only read and write these
// rows.
//   Results do not change if the optimizer leaves rows with zero gradient
// unchanged. With --sparse-embeddings=lazy other optimizers do so, too: moments
// of rows that were not looked up neither decay nor change the rows.
#include "compiler/target/Target.h"
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/optimizer/BlockMoments.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using dlc::ir::Expr;

namespace dlc {
#define GEN_PASS_DEF_ROWGRADIENTS
#include "passes/Passes.h.inc"
namespace {

/// The lookups that a gradient is the sum of.
struct Lookups {
  SmallVector<ir::ScatterAddOp> parts;
  SmallVector<Operation *> behind; // casts and factors after it, last first
  bool areAll = true;              // it has no other terms and no other users

  explicit Lookups(Value gradient) {
    Value v = gradient;
    for (Operation *op = v.getDefiningOp(); isScaling(op);
         op = v.getDefiningOp()) {
      areAll &= v.hasOneUse();
      behind.push_back(op);
      v = op->getOperand(0);
    }
    SmallVector<Value> sums{v};
    while (!sums.empty()) {
      Value each = sums.pop_back_val();
      areAll &= each.hasOneUse();
      if (auto add = each.getDefiningOp<ir::AddOp>(); add && each.hasOneUse())
        sums.append({add.getB(), add.getA()});
      else if (auto part = each.getDefiningOp<ir::ScatterAddOp>();
               part && part.getAxis() == 0)
        parts.push_back(part);
      else
        areAll = false;
    }
  }

  int64_t count() const {
    int64_t n = 0;
    for (ir::ScatterAddOp part : parts)
      n += ir::tensorType(part.getIndices()).getNumElements();
    return n;
  }

private:
  static bool isScaling(Operation *op) {
    auto factor = dyn_cast_or_null<ir::MulOp>(op);
    return isa_and_nonnull<ir::CastOp>(op) ||
           (factor && ir::tensorType(factor.getB()).getRank() == 0);
  }
};

/// Most indices, of all ranks, of which every pair is compared.
constexpr int64_t kMostPaired = 1 << 17;

struct RowGradients : impl::RowGradientsBase<RowGradients> {
  RowGradients() {
    reads<&StepOptions::optimizer, &StepOptions::accumulate,
          &StepOptions::allReduce, &StepOptions::statistics,
          &StepOptions::target>();
  }

  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    Step step(f);
    auto groups = groupParameters(step, options.optimizer);
    if (failed(groups))
      return signalPassFailure();
    for (const ParameterGroup &group : *groups)
      if (group.options.sparse != "off")
        for (ir::GradientOp g : group.gradients)
          visit(g, group);
    sayLazy(f);
    if (taken)
      eraseUnused(f);
  }

private:
  void visit(ir::GradientOp g, const ParameterGroup &group) {
    const Lookups lookups(g.getValue());
    auto type = ir::tensorType(g.getValue());
    if (lookups.parts.empty() || type.getNumElements() == 0 ||
        lookups.count() == 0)
      return;
    const bool isLazy = group.options.sparse == "lazy", isExact = rests(group);
    if (!isLazy && (!isExact || !isFaster(lookups, type)))
      return;
    const std::string why = whyWhole(g.getValue(), lookups, group);
    if (why.empty()) {
      takeRows(g, lookups);
      if (!isExact)
        lazy[group.rule->name].push_back(g.getState());
    } else if (isLazy || StringRef(why).starts_with("--")) {
      g->getParentOfType<func::FuncOp>().emitRemark()
          << "the gradient of '" << g.getState()
          << "' is of the whole table: " << why;
    }
  }

  double pairsPerElement() const {
    return makeTarget(options.target)->lowering().pairsPerElement;
  }

  bool isFaster(const Lookups &lookups, RankedTensorType table) const {
    const int64_t n = lookups.count() * options.allReduce.partners();
    const double pairs = pairsPerElement();
    // Moving rows twice costs about half of the table.
    return 2 * n <= table.getDimSize(0) &&
           (pairs == 0 ||
            double(n) * double(n) <= pairs * double(table.getNumElements()));
  }

  static bool rests(const ParameterGroup &group) {
    const OptimizerOptions &o = group.options;
    return group.rule->restsAtZero && *o.weightDecay == 0 &&
           o.momentum.value_or(0) == 0;
  }

  /// Why the whole gradient is needed; empty if rows suffice.
  std::string whyWhole(Value gradient, const Lookups &lookups,
                       const ParameterGroup &group) const {
    if (options.accumulate.count > 1)
      return "--accumulate adds up whole gradients";
    if (options.allReduce.level() > 0)
      return "--zero splits whole gradients among the ranks";
    if (options.statistics.enabled)
      return "--stats measures whole gradients";
    if (const int64_t n = lookups.count() * options.allReduce.partners();
        pairsPerElement() != 0 && n > kMostPaired)
      return llvm::formatv("--target={0} compares all pairs of at most {1} "
                           "lookups, and there are {2}",
                           options.target.name, kMostPaired, n);
    if (group.rule->isOfWholeTensors)
      return group.rule->name.str() + " computes with all of it";
    if (isInBlocks(group, ir::tensorType(gradient)))
      return "--moments=8bit updates whole blocks";
    return lookups.areAll ? "" : "the table is not only looked up";
  }

  void takeRows(ir::GradientOp g, const Lookups &lookups) {
    OpBuilder b(g);
    SmallVector<Value> indices, updates;
    for (ir::ScatterAddOp part : lookups.parts) {
      Expr index(b, g.getLoc(), part.getIndices()),
          update(b, g.getLoc(), part.getUpdates());
      const int64_t n = index.type().getNumElements();
      SmallVector<int64_t> shape{n};
      llvm::append_range(shape,
                         ir::tensorType(part.getY()).getShape().drop_front());
      indices.push_back(index.reshape(n));
      updates.push_back(update.reshape(shape));
    }
    auto joined = [&](ArrayRef<Value> parts) -> Value {
      return parts.size() == 1
                 ? parts.front()
                 : ir::ConcatOp::create(b, g.getLoc(), parts, uint64_t(0));
    };
    const int64_t size = ir::tensorType(g.getValue()).getDimSize(0);
    Value index = joined(indices), update = joined(updates);
    auto rows = ir::UniqueRowsOp::create(b, g.getLoc(), index, update, size,
                                         IntegerAttr());
    Value value = rows.getSums();
    for (Operation *op : llvm::reverse(lookups.behind)) {
      Operation *same = b.clone(*op);
      same->setOperand(0, value);
      same->getResult(0).setType(
          ir::tensorType(value).clone(ir::elementType(op->getResult(0))));
      value = same->getResult(0);
    }
    g.getValueMutable().assign(value);
    g.getRowsMutable().assign(rows.getRows());
    taken = true;
  }

  /// Warns that the function is not the optimizer's.
  void sayLazy(func::FuncOp f) {
    for (const auto &[rule, names] : lazy)
      f.emitRemark() << "--sparse-embeddings=lazy: " << rule << " moves '"
                     << llvm::join(names, "', '")
                     << "' in rows that a step looks up; other rows and their "
                        "moments stay as they are";
    lazy.clear();
  }

  bool taken = false;
  std::map<StringRef, SmallVector<StringRef>> lazy; // by the optimizer's name
};

} // namespace
} // namespace dlc
