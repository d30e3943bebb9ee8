// SPDX-License-Identifier: Apache-2.0
// Fusion into clusters, each of which runs as one kernel.
//
// Ops are visited from last to first. An op joins the cluster of one of its
// users if
//   1. every user of it is in that cluster or after the cluster's last op, so
//      that the cluster can run at its last op and no cycle arises, and
//   2. the loops match (Domain below) and the result is one kernel according to
//      KernelGraph: shapes do not tell whether a square tensor's row sums are
//      used at their own rows. If cheap ops are repeated, a value per row joins
//      with the last reduction of the rows that it is computed from. With
//      `windows`, inputs of pooling windows are computed in them.
// Otherwise, if it is cheap (Leaves.h), it is repeated in the clusters of users
// that then read no more data; for remaining users it starts a cluster of its
// own. Constants and iotas are cloned into every cluster that uses them. Then
// clusters are joined (FuseJoin.cpp). With `few`, ops that only the function's
// results need run late: a loss is computed in the kernel of its gradient. Each
// op is visited once with its uses, in linear time.
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/fuse/Clusters.h"
#include "compiler/lower/fuse/Leaves.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using dlc::ir::Ints;

namespace dlc {

#define GEN_PASS_DEF_FUSE
#include "compiler/lower/Passes.h.inc"

namespace {

/// Reads are negligible if something this many times as large is read.
constexpr int64_t kNegligible = 16;
/// Ops between clusters that are still joined.
constexpr int64_t kSoon = 16;
/// Most ops that finish a row's reduction and join with it; most clusters that
/// are considered as readers of a value.
constexpr size_t kFinishing = 8, kReaders = 8;

class Fuser {
public:
  Fuser(Block &block, FuseOptions options)
      : block(block), apart(options.apart), few(options.few && !apart),
        windows(options.windows && !apart) {
    if (options.repeat && !apart)
      leaves.emplace(block);
  }

  void run() {
    moveWritesToEnd(block);
    if (few)
      late = moveResultsBehind(block);
    for (Operation &op : block)
      op.removeDiscardableAttr(kApart);
    number();
    placeAll();
    for (Operation *op : replaced)
      op->erase();
    for (Operation &op : llvm::make_early_inc_range(block))
      if (classify(&op) == Class::Clone && needsBuffer(&op))
        place(&op, Class::Compute);
    if (!apart) {
      joinWriters(clusters);
      joinSmallReductions(clusters, /*apart=*/few);
    }
    auto order = clusters.fromLast();
    for (Cluster *c : llvm::reverse(order))
      build(*c);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (classify(&op) == Class::Clone && op.use_empty())
        op.erase();
  }

  void placeAll() {
    SmallVector<Operation *> ops(
        llvm::make_pointer_range(llvm::reverse(block)));
    for (Operation *op : ops) {
      if (Class c = classify(op); c != Class::None && c != Class::Clone &&
                                  !clusters.clusterOf.contains(op))
        place(op, c);
      if (leaves && isa<ir::LibraryInterface>(op))
        for (Value result : op->getResults())
          mergeReaders(result);
    }
  }

private:
  void number() {
    int64_t i = 0;
    for (Operation &op : block)
      clusters.position[&op] = Clusters::atEnd(&op) ? INT64_MAX : i++;
  }
  bool needsBuffer(Operation *op) {
    return llvm::any_of(op->getUsers(), [](Operation *u) {
      return classify(u) == Class::None;
    });
  }

  /// Rule 1, for ops that join together.
  bool mayRunIn(ArrayRef<Operation *> ops, Cluster &c) {
    return llvm::all_of(ops, [&](Operation *op) {
      return llvm::all_of(op->getUsers(), [&](Operation *u) {
        return c.members.contains(u) || llvm::is_contained(ops, u) ||
               runsAt(u) > c.last;
      });
    });
  }
  bool isBefore(Operation *a, Operation *b) {
    return clusters.position[a] < clusters.position[b];
  }
  /// Whether c only computes results of the function and op does not.
  bool isTooLate(Operation *op, const Cluster &c) const {
    return late.contains(c.ops.front()) && !late.contains(op);
  }
  /// A repeated op runs with its cluster, wherever the op is.
  int64_t runsAt(Operation *op) {
    return repeated.contains(op) ? clusters.clusterOf.lookup(op)->last
                                 : clusters.position[op];
  }
  bool escapes(Operation *op, Cluster &c) {
    return llvm::any_of(op->getUsers(),
                        [&](Operation *u) { return !c.members.contains(u); });
  }
  /// Whether users of op in c read it through a movement op.
  bool feedsMove(Operation *op, Cluster &c) {
    return llvm::any_of(op->getUsers(), [&](Operation *u) {
      return c.members.contains(u) && classify(u) == Class::Move;
    });
  }
  /// Whether the movement op `op` is only read by movements of c, so that their
  /// indices compose.
  bool isOnlyMoved(Operation *op, Cluster &c) {
    return llvm::all_of(op->getUsers(), [&](Operation *u) {
      return c.members.contains(u) && classify(u) == Class::Move;
    });
  }
  /// Addresses in a kernel may read indices, but not depend on conditions, nor
  /// on indices that are read at computed addresses.
  static bool isOneRead(Operation *op) {
    auto move = dyn_cast<ir::MovementInterface>(op);
    return move && move.pieces() == 1;
  }
  /// Whether c computes elements of its full index space from op.
  bool feedsFull(Operation *op, Cluster &c) {
    llvm::SmallSetVector<Operation *, 8> reached;
    reached.insert(op);
    for (size_t i = 0; i < reached.size(); ++i)
      for (Operation *u : reached[i]->getUsers()) {
        if (!c.members.contains(u))
          continue;
        if (isReduce(u) || c.domain.isFull(resultShape(u)))
          return true;
        reached.insert(u);
      }
    return false;
  }

  /// Rule 2: the domain of c with op in it, or nullopt.
  std::optional<Domain> fit(Operation *op, Class cls, Cluster &c) {
    const Domain &d = c.domain;
    if (feedsMove(op, c))
      return cls == Class::Move && isOnlyMoved(op, c) &&
                     (isOneRead(op) || !c.isIndexedBy(op))
                 ? std::optional(d)
                 : std::nullopt;
    if (cls == Class::Reduce)
      return fitReduce(op, c);
    Ints shape = resultShape(op);
    if (!d.reduces)
      return d.isFull(shape) ? std::optional(d) : std::nullopt;
    if (d.isKept(shape) || (d.isRows() && d.isFull(shape)))
      return d;
    return d.isFull(shape) && !escapes(op, c) ? std::optional(d) : std::nullopt;
  }
  std::optional<Domain> fitReduce(Operation *op, Cluster &c) {
    Domain own = Domain::of(op);
    if (c.domain.reduces) {
      bool same = own.full == c.domain.full && own.axes == c.domain.axes;
      return same && (own.isRows() || !feedsFull(op, c)) ? std::optional(own)
                                                         : std::nullopt;
    }
    if (own.isFull(c.domain.full)) // its result is broadcast back over the row
      return own.full == c.domain.full && own.isRows() && own.worthRows()
                 ? std::optional(own)
                 : std::nullopt;
    bool onResult =
        own.isKept(c.domain.full) && llvm::none_of(c.ops, [](Operation *o) {
          return classify(o) == Class::Move;
        });
    return onResult && own.worthRows() ? std::optional(own) : std::nullopt;
  }

  /// Clusters that op might join: those of its users; for a reduction also
  /// those that reduce its operand or a value computed from it.
  SmallVector<Cluster *> candidates(Operation *op, Class cls) {
    llvm::SmallSetVector<Cluster *, 4> found;
    auto add = [&](Operation *user) {
      if (Cluster *c = clusters.clusterOf.lookup(user))
        found.insert(c);
    };
    for (Operation *u : op->getUsers())
      add(u);
    if (cls == Class::Reduce)
      for (Operation *u : op->getOperand(0).getUsers()) {
        if (isReduce(u))
          add(u);
        for (Operation *reader : u->getUsers())
          if (isReduce(reader))
            add(reader);
      }
    auto order = found.takeVector();
    llvm::sort(order, [](Cluster *a, Cluster *b) { return a->last < b->last; });
    return order;
  }

  void place(Operation *op, Class cls) {
    if (!apart)
      mergeCandidates(op, cls);
    const bool overwrites = op->hasAttr(kOverwrites); // only once
    if (leaves && !overwrites && Leaves::isCheap(op) && isShared(op))
      repeat(op);
    if (op->use_empty() && leaves) {
      op->dropAllReferences();
      replaced.push_back(op);
      return;
    }
    if ((!apart && !overwrites && joins(op, cls)) ||
        isa<ir::ReshapeOp>(op)) // alias
      return;
    auto cluster = std::make_unique<Cluster>();
    cluster->domain = Domain::of(op);
    cluster->last = clusters.position[op];
    clusters.add(op, *cluster);
    clusters.all.push_back(std::move(cluster));
  }
  bool joins(Operation *op, Class cls) {
    bool narrow = !late.contains(op) && isNarrowEpilogue(op);
    for (Cluster *c : candidates(op, cls)) {
      if (!mayRunIn(op, *c) || c->overwrites(op) || isTooLate(op, *c) ||
          inputsWith(op, *c).size() > kMaxInputs ||
          (narrow && c->domain.reduces && c->domain.isFull(resultShape(op))))
        continue;
      const bool inWindows = windows && c->isInWindows(op);
      const auto domain =
          inWindows ? std::optional(c->domain) : fit(op, cls, *c);
      if (domain && c->mayHold(op)) {
        c->domain = *domain;
        clusters.add(op, *c);
        if (inWindows)
          c->inWindows.insert(op);
        if (cls == Class::Reduce)
          mergeCandidates(op, cls);
        return true;
      }
      if (leaves && bringsRows(op, *c))
        return true;
    }
    return false;
  }
  /// Whether op, a value per row for c, whose loops have no reduction yet,
  /// joins it together with the reduction of these rows that it is computed
  /// from, and the ops between them: the scale of a norm of rows.
  bool bringsRows(Operation *op, Cluster &c) {
    if (c.domain.reduces || !isa<ir::ElementwiseInterface>(op))
      return false;
    SmallVector<Operation *> ops{op};
    Operation *reduction = nullptr; // the last one
    for (size_t i = 0; i < ops.size(); ++i)
      for (Value v : ops[i]->getOperands()) {
        Operation *def = v.getDefiningOp();
        if (!def || clusters.clusterOf.contains(def) ||
            llvm::is_contained(ops, def) || resultShape(def) != resultShape(op))
          continue;
        const bool reduces = isReduce(def);
        if (reduces && (!reduction || isBefore(reduction, def)))
          reduction = def;
        if (!reduces && isa<ir::ElementwiseInterface>(def) &&
            ops.size() < kFinishing)
          ops.push_back(def);
      }
    if (!reduction)
      return false;
    llvm::erase_if(ops, [&](Operation *o) { return isBefore(o, reduction); });
    const Domain own = Domain::of(reduction);
    if (!own.isRows() || !own.worthRows() || own.full != c.domain.full ||
        !own.isKept(resultShape(op)) || feedsMove(op, c))
      return false;
    ops.push_back(reduction);
    if (!mayRunIn(ops, c) || inputsWith(ops, c).size() > kMaxInputs ||
        !c.mayHold(ops))
      return false;
    c.domain = own;
    for (Operation *o : ops)
      clusters.add(o, c);
    mergeCandidates(reduction, Class::Reduce);
    return true;
  }
  /// Joins readers of op with the same loops if they reduce, are small, or run
  /// soon: others gain little and extend lifetimes.
  void mergeCandidates(Operation *op, Class cls) {
    SmallVector<Cluster *> order = candidates(op, cls);
    llvm::erase_if(order, [&](Cluster *c) { // op is a scalar to them
      const Domain &d = c->domain;
      return !d.isFull(resultShape(op)) &&
             !(d.reduces && d.isKept(resultShape(op)));
    });
    merge(order);
  }
  void merge(ArrayRef<Cluster *> order) {
    for (size_t i = 0; i + 1 < order.size(); ++i)
      for (size_t k = i + 1; k < order.size(); ++k)
        if ((order[i]->isWorthJoining() ||
             order[k]->last - order[i]->last <= kSoon) &&
            clusters.mayJoin(*order[i], *order[k])) {
          clusters.join(*order[i], *order[k]);
          break;
        }
  }
  /// Movements of parts of a library's result (queries, keys and values) become
  /// one kernel.
  void mergeReaders(Value result) {
    llvm::SmallSetVector<Cluster *, 4> found;
    for (Operation *user : result.getUsers())
      if (Cluster *c = clusters.clusterOf.lookup(user);
          c && classify(user) == Class::Move && !c->domain.reduces)
        found.insert(c);
    if (found.size() > kReaders)
      return;
    SmallVector<Cluster *> order = found.takeVector();
    llvm::sort(order, [](Cluster *a, Cluster *b) { return a->last < b->last; });
    merge(order);
  }

  /// Whether no cluster has all users of op.
  bool isShared(Operation *op) {
    Cluster *c = clusters.clusterOf.lookup(*op->user_begin());
    return !c || escapes(op, *c);
  }
  /// Repeats op in each cluster of users that then reads no more data.
  void repeat(Operation *op) {
    if (isEpilogue(op))
      return;
    SmallVector<Cluster *> same, fewer; // by bytes read
    for (Cluster *c : candidates(op, Class::Compute))
      if (canHold(op, *c)) {
        int64_t more = bytesMore(op, *c), own = Leaves::bytes(op->getResult(0));
        if (more <= own)
          (more < own ? fewer : same).push_back(c);
      }
    bool isGone = llvm::all_of(op->getUsers(), [&](Operation *u) {
      Cluster *c = clusters.clusterOf.lookup(u);
      return llvm::is_contained(same, c) || llvm::is_contained(fewer, c);
    });
    if (isGone)
      fewer.append(same);
    for (Cluster *c : fewer) {
      Operation *made = OpBuilder(op).clone(*op);
      op->getResult(0).replaceUsesWithIf(
          made->getResult(0),
          [&](OpOperand &use) { return c->members.contains(use.getOwner()); });
      clusters.position[made] = clusters.position.lookup(op);
      repeated.insert(made);
      leaves->copy(op, made);
      clusters.add(made, *c);
    }
  }
  /// Whether op only finishes the result of a reduction.
  bool isEpilogue(Operation *op) {
    return llvm::any_of(leaves->ofOperands(op), [&](Value v) {
      Operation *def = v.getDefiningOp();
      return def && isReduce(def) && !isNegligible(v, op);
    });
  }
  /// Whether users would read more than its result if it did not run with the
  /// reductions that it is computed from.
  bool isNarrowEpilogue(Operation *op) {
    if (!leaves || !Leaves::isCheap(op) || !isEpilogue(op))
      return false;
    int64_t sum = 0;
    for (Value v : leaves->ofOperands(op))
      sum += Leaves::bytes(v);
    return sum > Leaves::bytes(op->getResult(0)) * (1 + 1.0 / kNegligible);
  }
  static bool isNegligible(Value v, Operation *op) {
    return Leaves::bytes(v) * kNegligible <= Leaves::bytes(op->getResult(0));
  }
  bool canHold(Operation *op, Cluster &c) {
    Ints shape = resultShape(op);
    bool fits =
        c.domain.isFull(shape) || (c.domain.reduces && c.domain.isKept(shape));
    return fits && !feedsMove(op, c) &&
           inputsWith(op, c).size() <= kMaxInputs && c.mayHold(op);
  }
  /// Bytes that c reads only for op.
  int64_t bytesMore(Operation *op, Cluster &c) {
    Leaves::Values more = leaves->ofOperands(op);
    for (Value v : inputsWith({}, c))
      if (v.getDefiningOp() != op)
        for (Value leaf : leaves->of(v))
          more.erase(leaf);
    int64_t sum = 0;
    for (Value v : more)
      sum += isNegligible(v, op) ? 0 : Leaves::bytes(v);
    return sum;
  }

  /// The inputs of c together with `more`, which joins it.
  llvm::SmallPtrSet<Value, 16> inputsWith(ArrayRef<Operation *> more,
                                          Cluster &c) {
    llvm::SmallPtrSet<Value, 16> inputs;
    auto collect = [&](Operation *o) {
      for (Value v : o->getOperands())
        if (Operation *def = v.getDefiningOp();
            !def || (!llvm::is_contained(more, def) &&
                     !c.members.contains(def) && classify(def) != Class::Clone))
          inputs.insert(v);
    };
    llvm::for_each(more, collect);
    llvm::for_each(c.ops, collect);
    return inputs;
  }

  /// Replaces the members by one dlc.fused at the place of the last.
  void build(Cluster &c) {
    llvm::sort(c.ops, [&](Operation *a, Operation *b) {
      return clusters.position[a] < clusters.position[b];
    });
    llvm::SmallSetVector<Value, 8> inputs;
    llvm::SmallSetVector<Operation *, 8> clones;
    SmallVector<Value> outputs;
    SmallVector<Location> locs;
    for (Operation *op : c.ops) {
      locs.push_back(op->getLoc());
      for (Value v : op->getOperands()) {
        Operation *def = v.getDefiningOp();
        if (def && c.members.contains(def))
          continue;
        if (def && classify(def) == Class::Clone)
          clones.insert(def);
        else
          inputs.insert(v);
      }
      for (Value r : op->getResults())
        if (llvm::any_of(r.getUsers(),
                         [&](Operation *u) { return !c.members.contains(u); }))
          outputs.push_back(r);
    }
    Operation *last = c.ops.back();
    OpBuilder b(last);
    auto fused = ir::FusedOp::create(b, FusedLoc::get(b.getContext(), locs),
                                     TypeRange(ValueRange(outputs)),
                                     inputs.getArrayRef());
    Block *body = b.createBlock(&fused.getBody());
    c.noteOverwritten(fused, outputs);
    IRMapping map;
    for (Value v : inputs)
      map.map(v, body->addArgument(v.getType(), v.getLoc()));
    for (Operation *op : clones)
      b.clone(*op, map);
    for (Operation *op : c.ops)
      b.clone(*op, map);
    SmallVector<Value> yields;
    for (Value v : outputs)
      yields.push_back(map.lookup(v));
    ir::YieldOp::create(b, fused.getLoc(), yields);
    for (auto [from, to] : llvm::zip(outputs, fused.getResults()))
      from.replaceUsesWithIf(to, [&](OpOperand &use) {
        return !c.members.contains(use.getOwner());
      });
    for (Operation *op : llvm::reverse(c.ops))
      op->erase();
  }

  Block &block;
  bool apart, few, windows;
  Clusters clusters;
  std::optional<Leaves> leaves; // null: nothing is repeated
  SmallVector<Operation *> replaced;
  llvm::DenseSet<Operation *> repeated; // the copies
  LateOps late;
};

struct Fuse : impl::FuseBase<Fuse> {
  using FuseBase::FuseBase;

  void runOnOperation() final {
    Fuser(getOperation().front(), {apart, repeat, few, windows}).run();
  }
};

} // namespace

} // namespace dlc
