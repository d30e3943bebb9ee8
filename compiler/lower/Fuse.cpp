// Clusters: what runs as one kernel.
//
// Ops are visited from last to first. An op joins the cluster of one of its
// users when
//   1. every user of it is in that cluster or stands after the cluster's last
//   op, so that the cluster can run at
//      the place of its last op and no cycle can arise, and
//   2. the loops fit (Domain below).
// Otherwise it starts a cluster of its own. Constants and iotas are cloned into
// every cluster that uses them. Elementwise clusters whose results only states
// take join when they have a tensor in common: a parameter and its moments are
// one kernel. Each op is looked at once with its uses: linear in the size of
// the program.
#include "compiler/dialect/Dlc.h"
#include "compiler/lower/Lower.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using dlc::ir::Ints;
using dlc::ir::tensorType;

namespace dlc {
namespace {

constexpr size_t kMaxOps = 96;
constexpr size_t kMaxInputs = 24;
/// A row cluster with fewer rows than this runs on one thread; only small ones
/// may.
constexpr int64_t kFewRows = 16, kSmall = 1 << 15;

using Shape = SmallVector<int64_t>;

Shape squeezed(Ints shape) {
  Shape s;
  for (int64_t d : shape)
    if (d != 1)
      s.push_back(d);
  return s;
}
int64_t count(Ints shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

enum class Class {
  None,    // not for a cluster
  Clone,   // constant, iota: repeated where it is used
  Compute, // one index space: elementwise, broadcast, unit reshape
  Move,    // other index, leaf of a cluster: transpose, slice, pad, concat
  Reduce
};

bool isReduce(Operation *op) {
  return isa<ir::ReduceSumOp, ir::ReduceMeanOp, ir::ReduceMaxOp,
             ir::ReduceMinOp, ir::ArgMaxOp>(op);
}

Class classify(Operation *op) {
  if (isa<ir::ConstantOp, ir::IotaOp, ir::PositionOp>(op))
    return Class::Clone;
  if (isa<ir::ElementwiseInterface>(op) || isa<ir::BroadcastOp>(op))
    return Class::Compute;
  if (auto view = dyn_cast<ir::ReshapeOp>(op))
    return squeezed(tensorType(view.getX()).getShape()) ==
                   squeezed(tensorType(view.getY()).getShape())
               ? Class::Compute
               : Class::None;
  if (isa<ir::TransposeOp, ir::SliceOp, ir::PadOp, ir::ConcatOp>(op))
    return Class::Move;
  return isReduce(op) ? Class::Reduce : Class::None;
}

Ints resultShape(Operation *op) {
  return tensorType(op->getResult(0)).getShape();
}
Ints operandShape(Operation *op) {
  return tensorType(op->getOperand(0)).getShape();
}
Ints reducedAxes(Operation *op) {
  return op->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef();
}

/// The loops of a cluster: its full index space and, once something is reduced,
/// over which axes.
struct Domain {
  Shape full;
  Shape axes;
  bool reduces = false;

  static Domain of(Operation *op) {
    Domain d;
    if (isReduce(op)) {
      d.reduceOver(op);
    } else {
      d.full.assign(resultShape(op).begin(), resultShape(op).end());
    }
    return d;
  }
  void reduceOver(Operation *op) {
    full.assign(operandShape(op).begin(), operandShape(op).end());
    axes.assign(reducedAxes(op).begin(), reducedAxes(op).end());
    reduces = true;
  }
  /// The reduced axes are the last ones, so that a row can be read again after
  /// its reduction.
  bool isRows() const {
    return axes.empty() || axes.front() == (int64_t)(full.size() - axes.size());
  }
  Shape kept() const {
    Shape s;
    for (size_t i = 0; i < full.size(); ++i)
      if (!llvm::is_contained(axes, (int64_t)i))
        s.push_back(full[i]);
    return squeezed(s);
  }
  bool isFull(Ints shape) const { return squeezed(shape) == squeezed(full); }
  bool isKept(Ints shape) const { return squeezed(shape) == kept(); }
  bool worthRows() const {
    return count(kept()) >= kFewRows || count(full) <= kSmall;
  }
};

struct Cluster {
  Domain domain;
  int64_t last = 0; // position of its last op
  SmallVector<Operation *> ops;
  llvm::SmallPtrSet<Operation *, 8> members;
};

class Fuser {
public:
  Fuser(Block &block, bool apart) : block(block), apart(apart) {}

  void run() {
    moveWritesToEnd();
    number();
    for (Operation &op : llvm::reverse(block))
      if (Class c = classify(&op); c != Class::None && c != Class::Clone)
        place(&op, c);
    for (Operation &op : llvm::make_early_inc_range(block))
      if (classify(&op) == Class::Clone && needsBuffer(&op))
        place(&op, Class::Compute);
    if (!apart)
      joinWriters();
    SmallVector<Cluster *> order;
    for (auto &c : clusters)
      if (!c->ops.empty())
        order.push_back(c.get());
    llvm::sort(order, [](Cluster *a, Cluster *b) { return a->last < b->last; });
    for (Cluster *c : order)
      build(*c);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (classify(&op) == Class::Clone && op.use_empty())
        op.erase();
  }

private:
  static bool atEnd(Operation *op) {
    return isa<ir::WriteOp>(op) || op->hasTrait<OpTrait::IsTerminator>();
  }
  void moveWritesToEnd() {
    for (auto write : llvm::to_vector(block.getOps<ir::WriteOp>()))
      write->moveBefore(block.getTerminator());
  }
  void number() {
    int64_t i = 0;
    for (Operation &op : block)
      position[&op] = atEnd(&op) ? INT64_MAX : i++;
  }
  bool needsBuffer(Operation *op) {
    return llvm::any_of(op->getUsers(), [](Operation *u) {
      return classify(u) == Class::None;
    });
  }

  /// Rule 1.
  bool mayRunIn(Operation *op, Cluster &c) {
    return llvm::all_of(op->getUsers(), [&](Operation *u) {
      return c.members.contains(u) || position[u] > c.last;
    });
  }
  bool escapes(Operation *op, Cluster &c) {
    return llvm::any_of(op->getUsers(),
                        [&](Operation *u) { return !c.members.contains(u); });
  }
  /// Whether users of op in c see it through a leaf that moves elements.
  bool feedsMove(Operation *op, Cluster &c) {
    return llvm::any_of(op->getUsers(), [&](Operation *u) {
      return c.members.contains(u) && classify(u) == Class::Move;
    });
  }
  bool feedsFull(Operation *op, Cluster &c) {
    return llvm::any_of(op->getUsers(), [&](Operation *u) {
      return c.members.contains(u) &&
             (isReduce(u) || c.domain.isFull(resultShape(u)));
    });
  }

  /// Rule 2: the domain of c with op in it, or nothing.
  std::optional<Domain> fit(Operation *op, Class cls, Cluster &c) {
    const Domain &d = c.domain;
    if (c.ops.size() >= kMaxOps || feedsMove(op, c))
      return std::nullopt;
    if (cls == Class::Reduce)
      return fitReduce(op, c);
    Ints shape = resultShape(op);
    if (!d.reduces)
      return d.isFull(shape) ? std::optional(d) : std::nullopt;
    if (d.isRows()) {
      bool fits = d.isFull(shape) || (cls == Class::Compute && d.isKept(shape));
      return fits ? std::optional(d) : std::nullopt;
    }
    if (d.isFull(shape))
      return escapes(op, c) ? std::nullopt : std::optional(d);
    return d.isKept(shape) && cls == Class::Compute && !feedsFull(op, c)
               ? std::optional(d)
               : std::nullopt;
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

  /// Clusters that op might join: its users'; for a reduction also those that
  /// read its operand.
  SmallVector<Cluster *> candidates(Operation *op, Class cls) {
    llvm::SmallSetVector<Cluster *, 4> found;
    auto add = [&](Operation *user) {
      if (Cluster *c = clusterOf.lookup(user))
        found.insert(c);
    };
    for (Operation *u : op->getUsers())
      add(u);
    if (cls == Class::Reduce)
      for (Operation *u : op->getOperand(0).getUsers())
        if (isReduce(u))
          add(u);
    auto order = found.takeVector();
    llvm::sort(order, [](Cluster *a, Cluster *b) { return a->last < b->last; });
    return order;
  }

  void place(Operation *op, Class cls) {
    for (Cluster *c : candidates(op, cls)) {
      if (apart || !mayRunIn(op, *c) || inputsWith(op, *c) > kMaxInputs)
        continue;
      if (auto domain = fit(op, cls, *c)) {
        c->domain = *domain;
        add(op, *c);
        return;
      }
    }
    clusters.push_back(std::make_unique<Cluster>());
    clusters.back()->domain = Domain::of(op);
    clusters.back()->last = position[op];
    add(op, *clusters.back());
  }
  void add(Operation *op, Cluster &c) {
    c.ops.push_back(op);
    c.members.insert(op);
    clusterOf[op] = &c;
  }
  size_t inputsWith(Operation *op, Cluster &c) {
    llvm::SmallPtrSet<Value, 16> inputs;
    auto collect = [&](Operation *o) {
      for (Value v : o->getOperands())
        if (Operation *def = v.getDefiningOp();
            !def || (def != op && !c.members.contains(def) &&
                     classify(def) != Class::Clone))
          inputs.insert(v);
    };
    collect(op);
    for (Operation *o : c.ops)
      collect(o);
    return inputs.size();
  }

  /// From the last to the first: each joins a later one, so that what it reads
  /// stands before both.
  void joinWriters() {
    SmallVector<Cluster *> order;
    for (auto &c : clusters)
      order.push_back(c.get());
    llvm::sort(order, [](Cluster *a, Cluster *b) { return a->last > b->last; });
    llvm::SmallPtrSet<Cluster *, 16> writers;
    llvm::DenseMap<const void *, Cluster *> readers; // of a value, a cluster
    for (Cluster *c : order) {
      if (!isWriter(*c, writers))
        continue;
      while (Cluster *home = findHome(*c, readers)) {
        for (Operation *op : c->ops)
          add(op, *home);
        c->ops.clear();
        c = home;
      }
      writers.insert(c);
      for (Value v : fullOperands(*c)) {
        readers[v.getAsOpaquePointer()] = c;
        if (Cluster *source = sourceOf(v))
          readers[source] = c;
      }
    }
  }
  /// Whether c is elementwise and only states and writers take its results.
  bool isWriter(Cluster &c, llvm::SmallPtrSetImpl<Cluster *> &writers) {
    return !c.domain.reduces && count(c.domain.full) > 1 &&
           llvm::all_of(c.ops, [&](Operation *op) {
             return classify(op) != Class::Move &&
                    llvm::all_of(op->getUsers(), [&](Operation *u) {
                      return atEnd(u) || c.members.contains(u) ||
                             writers.contains(clusterOf.lookup(u));
                    });
           });
  }
  Cluster *sourceOf(Value v) {
    Operation *op = v.getDefiningOp();
    return op ? clusterOf.lookup(op) : nullptr;
  }
  /// A later writer that reads a value that c reads, or another result of a
  /// cluster that c reads.
  Cluster *findHome(Cluster &c,
                    llvm::DenseMap<const void *, Cluster *> &readers) {
    Cluster *first = nullptr;
    auto consider = [&](Cluster *home) {
      if (home && home != &c && home->last > c.last && mayJoin(c, *home) &&
          (!first || home->last < first->last))
        first = home;
    };
    for (Value v : fullOperands(c)) {
      consider(readers.lookup(v.getAsOpaquePointer()));
      if (Cluster *source = sourceOf(v))
        consider(readers.lookup(source));
    }
    return first;
  }
  SmallVector<Value> fullOperands(Cluster &c) {
    SmallVector<Value> values;
    for (Operation *op : c.ops) {
      llvm::append_range(values, op->getOperands());
      llvm::append_range(values, op->getResults());
    }
    llvm::erase_if(values, [&](Value v) {
      return !c.domain.isFull(tensorType(v).getShape());
    });
    return values;
  }
  bool mayJoin(Cluster &c, Cluster &home) {
    if (c.domain.full != home.domain.full ||
        c.ops.size() + home.ops.size() > kMaxOps)
      return false;
    auto inside = [&](Operation *op) {
      return c.members.contains(op) || home.members.contains(op);
    };
    llvm::SmallPtrSet<Value, 16> inputs;
    for (Cluster *from : {&c, &home})
      for (Operation *op : from->ops)
        for (Value v : op->getOperands())
          if (Operation *def = v.getDefiningOp();
              !def || !(inside(def) || classify(def) == Class::Clone))
            inputs.insert(v);
    return inputs.size() <= kMaxInputs &&
           llvm::all_of(c.ops, [&](Operation *op) {
             return llvm::all_of(op->getUsers(), [&](Operation *u) {
               return inside(u) || position[u] > home.last;
             });
           });
  }

  /// Replaces the members by one dlc.fused at the place of the last.
  void build(Cluster &c) {
    llvm::sort(c.ops, [&](Operation *a, Operation *b) {
      return position[a] < position[b];
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
  bool apart;
  llvm::DenseMap<Operation *, int64_t> position;
  llvm::DenseMap<Operation *, Cluster *> clusterOf;
  std::vector<std::unique_ptr<Cluster>> clusters;
};

struct Fuse : PassWrapper<Fuse, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Fuse)
  StringRef getArgument() const final { return "dlc-fuse"; }
  StringRef getDescription() const final {
    return "make clusters that compile to one kernel each";
  }
  Fuse(bool apart = false) { this->apart = apart; }
  Fuse(const Fuse &other) : PassWrapper(other) { apart = other.apart; }
  void runOnOperation() final { Fuser(getOperation().front(), apart).run(); }

  Option<bool> apart{*this, "apart",
                     llvm::cl::desc("each op a cluster of its own")};
};

} // namespace

std::unique_ptr<Pass> createFuse(bool apart) {
  return std::make_unique<Fuse>(apart);
}

} // namespace dlc
