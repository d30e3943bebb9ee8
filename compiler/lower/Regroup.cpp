#include "compiler/lower/Regroup.h"
#include "compiler/lower/Clusters.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using dlc::ir::Expr;
using dlc::ir::Ints;
using dlc::ir::tensorType;

namespace dlc {
namespace {

/// Parts of a column that fill a device, and fewest rows of a part.
constexpr int64_t kMaxParts = 1024, kMostSums = 1 << 16, kMinRows = 32;
/// Most ops that are repeated for one value, and most arrays that they read.
constexpr int kMostOps = 24;
constexpr size_t kMostLeaves = 4;

int64_t partsOf(int64_t rows, int64_t channels) {
  int64_t parts = std::min(
      {kMaxParts, rows / kMinRows, kMostSums / std::max<int64_t>(channels, 1)});
  for (parts = std::max<int64_t>(parts, 1); rows % parts;)
    --parts;
  return parts;
}

class Regrouper {
public:
  Regrouper(Expr at, const ChannelView &view, Value known, Operation *user)
      : at(at), view(view), known(known), user(user) {}

  Value run(Value v) {
    bool owned =
        llvm::all_of(v.getUsers(), [&](Operation *u) { return u == user; });
    return rebuild(v, owned);
  }

private:
  bool isFull(Value v) const {
    return tensorType(v).getShape() == Ints(view.images);
  }
  bool isPerChannel(Value v) const {
    return tensorType(v).getShape() == Ints(view.perChannel);
  }
  static bool isSingle(Value v) { return tensorType(v).getNumElements() == 1; }
  bool isRepeatable(Operation *op) const {
    return op && isa<ir::ElementwiseInterface>(op) &&
           op->getNumResults() == 1 && isFull(op->getResult(0)) &&
           llvm::all_of(op->getOperands(), [&](Value v) {
             return isFull(v) || isPerChannel(v) || isSingle(v);
           });
  }
  bool needsOnlyKnown(Value v, int &budget) const {
    if (v == known || !isFull(v))
      return true;
    Operation *op = v.getDefiningOp();
    return budget-- > 0 && isRepeatable(op) &&
           llvm::all_of(op->getOperands(),
                        [&](Value o) { return needsOnlyKnown(o, budget); });
  }

  /// Adds the arrays that v would be made from; false if they are too many or
  /// not in memory otherwise.
  bool collect(Value v, bool owned, llvm::SmallPtrSetImpl<Value> &leaves,
               int &budget) const {
    if (!isFull(v))
      return true;
    Operation *op = v.getDefiningOp();
    if (int own = kMostOps;
        v != known && isRepeatable(op) && (owned || needsOnlyKnown(v, own)))
      return budget-- > 0 && llvm::all_of(op->getOperands(), [&](Value o) {
               return collect(o, owned && o.hasOneUse(), leaves, budget);
             });
    leaves.insert(v);
    return leaves.size() <= kMostLeaves && !(op && classify(op) == Class::Move);
  }
  bool isWorthRepeating(Value v, bool owned) const {
    llvm::SmallPtrSet<Value, 8> leaves;
    int budget = kMostOps;
    return v != known && isRepeatable(v.getDefiningOp()) &&
           collect(v, owned, leaves, budget) && !leaves.contains(v);
  }

  Value rebuild(Value v, bool owned) {
    if (!isFull(v))
      return isSingle(v) ? viewOf(v, {}) : viewOf(v, vectorShape());
    if (Value made = done.lookup(v))
      return made;
    if (!isWorthRepeating(v, owned))
      return done[v] = viewOf(v, view.shape);
    Operation *op = v.getDefiningOp();
    SmallVector<Value> operands;
    for (Value o : op->getOperands())
      operands.push_back(rebuild(o, owned && o.hasOneUse()));
    Operation *made = at.b->clone(*op);
    made->setOperands(operands);
    made->getResult(0).setType(tensorType(v).clone(view.shape));
    return done[v] = made->getResult(0);
  }
  Value viewOf(Value v, Ints shape) const {
    return Expr(*at.b, at.loc, v).reshape(shape);
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
  llvm::DenseMap<Value, Value> done;
};

} // namespace

ChannelView::ChannelView(RankedTensorType type, StringRef layout)
    : images(type.getShape()), perChannel(type.getRank(), 1) {
  bool last = layout == "nhwc" || type.getRank() == 2;
  int64_t axis = last ? type.getRank() - 1 : 1, channels = images[axis];
  perChannel[axis] = channels;
  int64_t rows = channels ? type.getNumElements() / channels : 0;
  if (last) {
    int64_t parts = partsOf(rows, channels);
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
