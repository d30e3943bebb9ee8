// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/decompose/Regroup.h"
#include "compiler/dialect/Locations.h"
#include "compiler/lower/fuse/Clusters.h"
#include "compiler/lower/fuse/Leaves.h"
#include "mlir/IR/Builders.h"
#include "runtime/base/numbers/Sliding.h"
#include <map>
#include <set>

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::Ints;
using dlc::ir::tensorType;

namespace dlc {
namespace {

/// Most parts of a column, for a device; fewest rows of a part.
constexpr int64_t kMaxParts = 1024, kMostSums = 1 << 16, kMinRows = 32;
/// Most ops that are repeated for a value, and most arrays that they read.
constexpr int kMostOps = 32;
constexpr size_t kMostLeaves = 4;

/// Rows of a tile of a product that reduces its results (dlc-fuse-matmul).
constexpr int64_t kTileRows = 128;

/// As many as allowed; parts of whole tiles if these are at least
/// three quarters as many.
int64_t partsForRows(int64_t rows, int64_t channels) {
  const int64_t most = std::min(
      {kMaxParts, rows / kMinRows, kMostSums / std::max<int64_t>(channels, 1)});
  const int64_t parts = largestDivisor(rows, most);
  if (rows % kTileRows)
    return parts;
  const int64_t ofTiles = largestDivisor(rows / kTileRows, most);
  return 4 * ofTiles >= 3 * parts ? ofTiles : parts;
}

class Regrouper {
public:
  Regrouper(Expr at, const ChannelView &view, Value known, Operation *user)
      : at(at), view(view), known(known), user(user) {}

  Value run(Value v) {
    findOwned(v);
    return rebuild(v);
  }

private:
  using ValueSet = llvm::SmallPtrSet<Value, 8>;

  bool isFull(Value v) const {
    return tensorType(v).getShape() == Ints(view.images);
  }
  bool isPerChannel(Value v) const {
    Ints shape = tensorType(v).getShape();
    bool isVector = shape.size() == 1 && view.perChannel.back() != 1 &&
                    shape.front() == view.perChannel.back();
    return isVector || shape == Ints(view.perChannel);
  }
  /// Whether v has one value per row of adjacent channels.
  bool isPerRow(Value v) const {
    Ints shape = tensorType(v).getShape();
    return view.channel == 2 && shape.size() == view.images.size() &&
           shape.back() == 1 &&
           shape.drop_back() == Ints(view.images).drop_back();
  }
  static bool isSingle(Value v) { return tensorType(v).getNumElements() == 1; }
  bool isRepeatable(Operation *op) const {
    return op && isa<ir::ElementwiseInterface>(op) &&
           op->getNumResults() == 1 && isFull(op->getResult(0)) &&
           llvm::all_of(op->getOperands(), [&](Value v) {
             return isFull(v) || isPerChannel(v) || isPerRow(v) || isSingle(v);
           });
  }
  static int64_t bytesOf(const ValueSet &values) {
    int64_t sum = 0;
    for (Value v : values)
      sum += Leaves::bytes(v);
    return sum;
  }

  /// The ops that are only needed for `user`, through v, from last to first.
  void findOwned(Value v) {
    auto isLater = [](Operation *a, Operation *b) {
      return b->isBeforeInBlock(a);
    };
    std::set<Operation *, decltype(isLater)> open(isLater);
    auto offer = [&](Value o) {
      if (Operation *op = o.getDefiningOp(); isRepeatable(op))
        open.insert(op);
    };
    offer(v);
    for (int i = 0; i < 2 * kMostOps && !open.empty(); ++i) {
      Operation *op = *open.begin();
      open.erase(open.begin());
      if (!llvm::all_of(op->getUsers(), [&](Operation *u) {
            return u == user || owned.contains(u);
          }))
        continue;
      owned.insert(op);
      llvm::for_each(op->getOperands(), offer);
    }
  }

  /// The arrays that v can be recomputed from with the fewest bytes; v itself
  /// if recomputing saves nothing. `known` is free. Each op visited is taken
  /// from `budget`, which limits the search.
  const ValueSet &leavesOf(Value v, int &budget) {
    auto at = leaves.find(v.getAsOpaquePointer());
    if (at == leaves.end())
      at = leaves.try_emplace(v.getAsOpaquePointer(), findLeaves(v, budget))
               .first;
    return at->second;
  }
  ValueSet findLeaves(Value v, int &budget) {
    if (v == known || !isFull(v))
      return {};
    Operation *op = v.getDefiningOp();
    ValueSet self, all;
    self.insert(v);
    if (!isRepeatable(op))
      return self;
    if (budget-- <= 0) {
      cut.insert(v);
      return self;
    }
    bool isOwned = owned.contains(op);
    for (Value o : op->getOperands()) {
      int own = kMostOps; // shared ops have a budget of their own
      bool starts = isOwned && !owned.contains(o.getDefiningOp());
      all.insert_range(leavesOf(o, starts ? own : budget));
    }
    bool isGain =
        isOwned || all.empty() ||
        (!known && Leaves::isCheap(op) && bytesOf(all) <= Leaves::bytes(v));
    return isGain ? all : self;
  }
  /// Whether the leaf is only used by repeated ops: it is stored for them.
  bool isNew(Value leaf) const {
    return leaf.getDefiningOp() &&
           classify(leaf.getDefiningOp()) != Class::None &&
           llvm::all_of(leaf.getUsers(), [&](Operation *u) {
             return u == user || owned.contains(u);
           });
  }
  /// If a gradient reads a moved value of the forward part, that value, or one
  /// computed from it, is stored anyway.
  bool isBetterRead(Value leaf) const {
    Operation *op = leaf.getDefiningOp();
    return op &&
           ((classify(op) == Class::Move && !(ir::isGradient(user->getLoc()) &&
                                              !ir::isGradient(op->getLoc()))) ||
            isa<ir::BroadcastOp>(op));
  }
  bool isWorthRepeating(Value v) {
    int budget = kMostOps;
    const ValueSet &from = leavesOf(v, budget);
    return v != known && !from.contains(v) && from.size() <= kMostLeaves &&
           llvm::none_of(from,
                         [&](Value leaf) { return isBetterRead(leaf); }) &&
           llvm::none_of(from,
                         [&](Value leaf) { return cut.contains(leaf); }) &&
           llvm::count_if(from, [&](Value leaf) { return isNew(leaf); }) <= 1;
  }

  Value rebuild(Value v) {
    if (!isFull(v))
      return viewOf(v, isSingle(v)   ? SmallVector<int64_t>()
                       : isPerRow(v) ? rowShape()
                                     : vectorShape());
    if (Value made = done.lookup(v))
      return made;
    if (!isWorthRepeating(v))
      return done[v] = viewOf(v, view.shape);
    Operation *op = v.getDefiningOp();
    SmallVector<Value> operands;
    for (Value o : op->getOperands())
      operands.push_back(rebuild(o));
    Operation *made = at.b->clone(*op);
    made->setOperands(operands);
    made->getResult(0).setType(tensorType(v).clone(view.shape));
    return done[v] = made->getResult(0);
  }
  Value viewOf(Value v, Ints shape) const {
    return Expr(*at.b, at.loc, v).reshape(shape);
  }
  SmallVector<int64_t> rowShape() const {
    return {view.shape[0], view.shape[1], 1};
  }
  SmallVector<int64_t> vectorShape() const {
    SmallVector<int64_t> shape(view.shape.size(), 1);
    shape[view.channel] = view.shape[view.channel];
    return shape;
  }

  Expr at;
  const ChannelView &view;
  Value known;
  Operation *user;
  llvm::SmallPtrSet<Operation *, 32> owned;
  std::map<void *, ValueSet> leaves; // by value
  ValueSet cut;                      // leaves at which the search ended
  llvm::DenseMap<Value, Value> done;
};

} // namespace

int64_t largestDivisor(int64_t n, int64_t limit) {
  for (limit = std::max<int64_t>(limit, 1); n % limit;)
    --limit;
  return limit;
}

ChannelView::ChannelView(RankedTensorType type, StringRef layout, int64_t parts)
    : images(type.getShape()), perChannel(type.getRank(), 1) {
  const int64_t axis = ImageDims(type.getRank(), layout).channel(),
                channels = images[axis];
  const bool last = axis == type.getRank() - 1;
  perChannel[axis] = channels;
  int64_t rows = channels ? type.getNumElements() / channels : 0;
  if (last) {
    if (!parts)
      parts = partsForRows(rows, channels);
    shape = {parts, rows / parts, channels};
  } else {
    shape = {images[0], channels, images[0] ? rows / images[0] : 0};
  }
  channel = last ? 2 : 1;
  inner = 3 - channel;
}
Expr ChannelView::vector(Expr channels) const {
  SmallVector<int64_t> to(shape.size(), 1);
  to[channel] = shape[channel];
  return channels.reshape(to);
}
Expr ChannelView::ofImages(Expr channels) const {
  return channels.reshape(perChannel);
}

Expr regroup(Expr v, const ChannelView &view, Value known, Operation *user) {
  return Expr(*v.b, v.loc, Regrouper(v, view, known, user).run(v));
}

} // namespace dlc
