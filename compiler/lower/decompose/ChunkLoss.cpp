// SPDX-License-Identifier: Apache-2.0
// Computes a loss in chunks of rows, so that logits are never materialised as a
// whole. The logits of a language model, [rows, vocabulary], and their gradient
// are its largest tensors.
//
// The ops that compute logits and that read them, forward and backward, form a
// region of ops that treat rows independently (RowRules.h), except for sums
// over rows: the gradients of the weight and the bias. The region is computed
// for one chunk of rows after the other, each from the product to the sums, so
// the logits of one chunk are dead before the next one's are computed. Hidden
// states and labels are sliced; losses of rows and the gradient of hidden
// states are written in slices. Rows have the same values as without chunks;
// sums are added in another order, in f32 if their elements have 16 bits.
//
// If an op mixes rows, or if logits are an output, they stay whole.
#include "compiler/dialect/Expr.h"
#include "compiler/dialect/Locations.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/decompose/RowRules.h"
#include "compiler/lower/decompose/Steps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "runtime/base/Bytes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::tensorType;

namespace dlc {

#define GEN_PASS_DEF_CHUNKLOSS
#include "compiler/lower/Passes.h.inc"

namespace {

/// Logits of at most this share of the memory limit are not split.
constexpr int64_t kShareOfMemory = 16;
/// Each chunk has separate ops, and products of few rows are inefficient, since
/// each reads the whole weight.
constexpr int64_t kMostPieces = 16, kFewestRows = 256, kMultiple = 64;
/// Largest number of chunks on request.
constexpr int64_t kMostAsked = 64;

/// The ops between a product and the sums over rows of one loss.
class LossRegion {
public:
  explicit LossRegion(ir::SoftmaxCrossEntropyOp loss)
      : block(*loss->getBlock()), logits(loss.getLogits()),
        rows(tensorType(logits).getDimSize(0)), rules(rows) {}

  /// False if rows cannot be separated; `why` and the op that mixes them.
  bool find() {
    expand(logits);
    for (size_t i = 0; i < wide.size() && !whyNot; ++i) {
      if (Operation *def = wide[i].getDefiningOp())
        add(def);
      for (Operation *user : wide[i].getUsers())
        add(user);
    }
    if (!whyNot)
      close();
    for (auto &[op, rule] : members)
      for (auto [v, part] : llvm::zip(op->getOperands(), rule.operands))
        if (part != partOf(v).value_or(part))
          whyNot = op;
    return !whyNot;
  }

  int64_t count() const { return rows; }
  Value value() const { return logits; }
  Operation *mixes() const { return whyNot; }
  bool contains(Operation *op) const { return members.contains(op); }
  /// Bytes of all sums over rows, which exist twice during accumulation.
  int64_t bytesOfSums() const {
    int64_t bytes = 0;
    for (auto &[op, rule] : members)
      for (auto [v, part] : llvm::zip(op->getResults(), rule.results))
        bytes += part == Part::Sum ? byteSize(tensorType(v)) : 0;
    return bytes;
  }

  void split(int64_t most) {
    OpBuilder builder = makeRoom();
    for (int64_t first = 0; first < rows; first += most)
      buildPiece(builder, first, std::min(most, rows - first));
    finish(builder);
  }

private:
  /// Adds the ops that use v and those that compute it to the region.
  void expand(Value v) {
    if (tensorType(v).getNumElements() == tensorType(logits).getNumElements())
      wide.insert(v);
  }
  void add(Operation *op) {
    if (members.contains(op) || whyNot)
      return;
    std::optional<RowRule> rule = rules.of(op);
    if (!rule) {
      whyNot = op;
      return;
    }
    if (!isa<ir::MatmulOp>(op)) { // logits begin or end at products
      for (auto [v, part] : llvm::zip(op->getOperands(), rule->operands))
        if (part == Part::Rows)
          expand(v);
      for (auto [v, part] : llvm::zip(op->getResults(), rule->results))
        if (part == Part::Rows)
          expand(v);
    }
    members.insert({op, std::move(*rule)});
  }
  /// Adds ops between two members to the region.
  void close() {
    llvm::DenseSet<Operation *> behind, before;
    auto isMember = [&](Operation *op) { return members.contains(op); };
    auto among = [](auto &ops, auto &set) {
      return llvm::any_of(ops, [&](Operation *op) { return set.contains(op); });
    };
    for (Operation &op : block) {
      SmallVector<Operation *> defs;
      for (Value v : op.getOperands())
        if (Operation *def = v.getDefiningOp())
          defs.push_back(def);
      if (isMember(&op) || among(defs, behind))
        behind.insert(&op);
    }
    for (Operation &op : llvm::reverse(block)) {
      SmallVector<Operation *> users(op.getUsers());
      if (isMember(&op) || among(users, before))
        before.insert(&op);
    }
    for (Operation &op : block)
      if (behind.contains(&op) && before.contains(&op))
        add(&op);
    dependent = std::move(behind);
  }
  std::optional<Part> partOf(Value v) const {
    auto member = members.find(v.getDefiningOp());
    return member == members.end()
               ? std::nullopt
               : std::optional(
                     member->second
                         .results[cast<OpResult>(v).getResultNumber()]);
  }

  /// Moves ops that depend on the region after it, and its inputs before it.
  OpBuilder makeRoom() {
    order = llvm::to_vector(llvm::make_first_range(members));
    llvm::sort(order, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    Operation *end = order.back()->getNextNode(), *first = end;
    SmallVector<Operation *> later;
    for (Operation &op :
         llvm::make_range(order.front()->getIterator(), end->getIterator()))
      if (dependent.contains(&op) && !members.contains(&op))
        later.push_back(&op);
    for (Operation *op : later)
      op->moveBefore(end);
    if (!later.empty())
      first = later.front();
    return OpBuilder(first);
  }

  void buildPiece(OpBuilder &builder, int64_t first, int64_t count) {
    llvm::DenseMap<Value, Value> map; // to this chunk's values
    for (Operation *op : order) {
      const RowRule &rule = members.find(op)->second;
      SmallVector<Value> operands;
      for (auto [v, part] : llvm::zip(op->getOperands(), rule.operands)) {
        Value &mine = map[v];
        if (!mine)
          mine = part == Part::Rows
                     ? rules.slice(builder, op->getLoc(), v, first, count)
                     : v;
        operands.push_back(mine);
      }
      SmallVector<Value> made = rules.build(builder, op, rule, operands, count);
      for (auto [v, part, mine] :
           llvm::zip(op->getResults(), rule.results, made)) {
        map[v] = mine;
        if (part == Part::Sum)
          addUp(builder, v, mine);
        else if (llvm::any_of(v.getUsers(), [&](Operation *user) {
                   return !members.contains(user);
                 }))
          parts[v].push_back(mine);
      }
    }
  }
  /// Accumulates in the memory of the previous sum.
  void addUp(OpBuilder &builder, Value v, Value mine) {
    Expr part = ir::wide(Expr(builder, v.getLoc(), mine));
    Value &sum = sums[v];
    if (!sum) {
      sum = part;
      return;
    }
    sum = Expr(builder, v.getLoc(), sum) + part;
    sum.getDefiningOp()->setAttr(kOverwrites, builder.getUnitAttr());
  }

  void finish(OpBuilder &builder) {
    for (auto &[v, all] : parts) {
      SmallVector<Expr> pieces;
      for (Value piece : all)
        pieces.emplace_back(builder, v.getLoc(), piece);
      v.replaceAllUsesWith(
          ir::stackRows(pieces).reshape(tensorType(v).getShape()));
    }
    for (auto &[v, sum] : sums) {
      for (Operation *user : llvm::make_early_inc_range(v.getUsers()))
        if (auto cast = dyn_cast<ir::CastOp>(user);
            cast && cast.getType() == sum.getType()) {
          cast.replaceAllUsesWith(sum);
          cast->erase();
        }
      if (!v.use_empty())
        v.replaceAllUsesWith(
            Expr(builder, v.getLoc(), sum).cast(ir::elementType(v)));
    }
    for (Operation *op : llvm::reverse(order))
      op->erase();
  }

  Block &block;
  Value logits;
  int64_t rows;
  RowRules rules;
  llvm::SetVector<Value> wide;
  llvm::MapVector<Operation *, RowRule> members;
  llvm::DenseSet<Operation *> dependent; // members, and users of their results
  Operation *whyNot = nullptr;
  SmallVector<Operation *> order;
  llvm::MapVector<Value, SmallVector<Value>> parts;
  llvm::MapVector<Value, Value> sums;
};

struct ChunkLoss : impl::ChunkLossBase<ChunkLoss> {
  using ChunkLossBase::ChunkLossBase;

  void runOnOperation() final {
    SmallVector<ir::SoftmaxCrossEntropyOp> losses(
        getOperation().getOps<ir::SoftmaxCrossEntropyOp>());
    if (rows && losses.empty() && getOperation().getName() == "train_step")
      getOperation().emitWarning()
          << "--loss-chunk=" << int64_t(rows)
          << " has no effect: there is no cross entropy of classes";
    llvm::DenseSet<Operation *> done;
    for (ir::SoftmaxCrossEntropyOp loss : losses) {
      if (done.contains(loss))
        continue;
      LossRegion region(loss);
      if (!isWanted(region))
        continue;
      if (!region.find()) {
        report(region);
        continue;
      }
      const int64_t most = rows ? rows : choose(region);
      if (!most || most >= region.count())
        continue;
      if ((region.count() - 1) / most >= kMostAsked) {
        loss.emitError() << "--loss-chunk=" << int64_t(rows) << " makes "
                         << (region.count() - 1) / most + 1 << " pieces of the "
                         << region.count() << " rows, " << kMostAsked
                         << " are possible: use --loss-chunk="
                         << (region.count() - 1) / kMostAsked + 1 << " or more";
        return signalPassFailure();
      }
      for (ir::SoftmaxCrossEntropyOp other : losses)
        if (region.contains(other))
          done.insert(other);
      region.split(most);
    }
  }

  static int64_t bytesOf(const LossRegion &region) {
    return byteSize(tensorType(region.value()));
  }
  /// Largest size in bytes that is not split; 0: every size is.
  int64_t largest() const {
    const int64_t share = memory / kShareOfMemory;
    return memory && large ? std::min<int64_t>(large, share)
                           : std::max<int64_t>(large, share);
  }
  bool isWanted(const LossRegion &region) const {
    return rows ? rows < region.count()
                : largest() && bytesOf(region) > largest();
  }
  /// Rows per chunk; 0: logits and their gradient are smaller than the sums.
  int64_t choose(const LossRegion &region) const {
    const int64_t whole = bytesOf(region), count = region.count(),
                  pieces = std::min((whole - 1) / largest() + 1, kMostPieces),
                  most = std::max(kFewestRows,
                                  alignUp((count - 1) / pieces + 1, kMultiple));
    const int64_t less = 2 * (whole - whole / count * most);
    return most < count && less > region.bytesOfSums() ? most : 0;
  }

  /// Reports why logits stay whole, if requested or useful.
  void report(const LossRegion &region) {
    Operation *op = region.mixes();
    const std::string text = fmt::format(
        "--loss-chunk: the logits of @{}, {}, are not split: {} reads or "
        "computes them",
        getOperation().getName().str(), roundBytes(bytesOf(region)),
        isa<func::ReturnOp>(op) ? "the function's result"
                                : op->getName().getStringRef().str());
    rows ? op->emitWarning() << text : op->emitRemark() << text;
  }
};

} // namespace

} // namespace dlc
