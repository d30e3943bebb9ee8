// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/ConvKernel.h"
#include "compiler/dialect/ops/Windows.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using dlc::ir::Ints;
using dlc::ir::tensorType;

namespace dlc {
namespace {

/// Largest number of products that the loops unroll.
constexpr int64_t kMostProducts = 128;
/// Elements of a tile's copy: as many as fit into the L2 cache beside streamed
/// data, and the most on a thread's stack.
constexpr int64_t kTile = 1 << 15, kMostTile = 1 << 16;
/// Channels of a cache line, and the most per item.
constexpr int64_t kLine = 16, kWide = 128;
/// Positions per item, so that copying the filter is amortised; items that keep
/// many threads busy.
constexpr int64_t kPositions = 512, kItems = 32;
constexpr int64_t kFewBlocks = 4;
/// Costs of copying a vector and of an output's loop, in products of a vector.
constexpr int64_t kCopyCost = 4, kLoopCost = 4;

/// `image`: read by taps; `behind`: the other operand or result.
template <class Op>
ConvKernel loopsOf(Op op, ConvKernel::Kind kind, Value image, Value w,
                   Value behind) {
  ConvKernel k;
  k.kind = kind;
  const Ints from = tensorType(image).getShape(),
             to = tensorType(behind).getShape(), ws = tensorType(w).getShape();
  const WindowSizes window = windowOf(op, ws);
  const ImageDims dims = imageDims(op, image);
  const int64_t group = op.getGroup();
  for (int64_t d = 0; d < dims.count(); ++d) {
    ConvKernel::Axis &axis = k.axes[3 - dims.count() + d];
    axis.window = window.along(d);
    axis.from = from[dims.spatial() + d];
    axis.to = to[dims.spatial() + d];
    axis.spreads = kind == ConvKernel::Data;
    (axis.spreads ? axis.phases : axis.step) = axis.window.stride;
  }
  k.images = from[0];
  k.channels = to[dims.channel()];
  k.sources = from[dims.channel()];
  k.own = k.channels / group;
  k.other = k.sources / group;
  k.filtersLast = op.getFiltersLast();
  k.inputs = ir::FilterDims(k.filtersLast).inputs(ws);
  return k;
}

void findOffsets(ConvKernel::Axis &axis) {
  axis.least = INT64_MAX;
  axis.most = INT64_MIN;
  for (int64_t r = 0; r < axis.phases; ++r)
    for (ConvKernel::Tap tap : axis.taps(r)) {
      axis.least = std::min(axis.least, tap.offset);
      axis.most = std::max(axis.most, tap.offset);
    }
}

/// Predicted time of an image, in products of a vector.
int64_t costOf(const ConvKernel &k) {
  int64_t positions = 1;
  for (const auto &axis : k.axes)
    positions *= axis.positions(0) * axis.phases;
  const int64_t vectors = llvm::divideCeil(k.block, kLine),
                copies = k.tiles() * (k.copied() / k.block),
                products = positions * k.taps() * k.planes() / k.parts();
  return k.blocks() *
         (vectors * (copies * kCopyCost + products) + positions * kLoopCost);
}

/// Chooses the channels per item and the tile, of sizes that fit. Whole rows of
/// many channels may leave only one row per tile, of which most is copied for
/// its neighbours, too.
void findTiles(ConvKernel &k) {
  const int64_t most = k.kind != ConvKernel::Filter ? kWide
                       : k.channels <= kWide        ? kLine
                                                    : 4 * kLine;
  std::optional<ConvKernel> best;
  const auto consider = [&](int64_t block) {
    k.block = block;
    for (auto &axis : k.axes)
      axis.tile = axis.positions(0);
    auto &[x, y, z] = k.axes;
    for (int64_t columns = z.tile;; columns = llvm::divideCeil(columns, 2)) {
      z.tile = columns;
      x.tile = x.positions(0), y.tile = y.positions(0);
      for (auto *axis : {&x, &y})
        while (k.copied() > kTile && axis->tile > 1)
          axis->tile = llvm::divideCeil(axis->tile, 2);
      const bool fits = k.copied() <= kTile,
                 isEnough = k.kind == ConvKernel::Filter ||
                            k.tiles() * k.blocks() * k.images >= kItems;
      if (best ? fits && isEnough && costOf(k) < costOf(*best)
               : fits || columns == 1)
        best = k;
      if (columns == 1)
        return;
    }
  };
  for (int64_t block = kLine; block < std::min(most + 1, k.channels);
       block += kLine)
    consider(block);
  if (k.channels <= most)
    consider(k.channels);
  k = *best;
}

void schedule(ConvKernel &k) {
  const bool isFilter = k.kind == ConvKernel::Filter;
  k.block = kLine;
  if (isFilter && k.blocks() < kFewBlocks)
    for (auto &axis : k.axes)
      if (axis.window.kernel > 1 && k.parts() == 1)
        axis.apart = true;
  // Inputs of a single tap are strided; columns are copied without gaps.
  for (auto &axis : MutableArrayRef(k.axes).drop_back())
    if (axis.apart)
      std::swap(axis.step, axis.between);
  for (auto &axis : k.axes)
    findOffsets(axis);
  findTiles(k);
  int64_t positions = 1;
  for (auto &axis : k.axes)
    positions *= axis.tile;
  const int64_t apart = k.tiles() * k.blocks() * k.images;
  k.together = isFilter ? k.images
                        : std::clamp<int64_t>(
                              std::min(llvm::divideCeil(kPositions, positions),
                                       (uint64_t)apart / kItems),
                              1, k.images);
}

} // namespace

SmallVector<ConvKernel::Tap, 8> ConvKernel::Axis::taps(int64_t phase) const {
  SmallVector<Tap, 8> found;
  for (int64_t n = 0; n < (apart ? 1 : window.kernel); ++n) {
    const int64_t reach = n * window.dilation - window.low,
                  at = spreads ? phase - reach : reach;
    const int64_t offset = llvm::divideFloorSigned(at, phases);
    if (offset * phases == at)
      found.push_back({n, offset});
  }
  return found;
}

int64_t ConvKernel::taps() const {
  int64_t n = 1;
  for (const Axis &axis : axes)
    n *= axis.window.kernel;
  return n;
}
int64_t ConvKernel::copied() const {
  int64_t n = block * planes();
  for (const Axis &axis : axes)
    n *= axis.copied();
  return n;
}
int64_t ConvKernel::parts() const {
  int64_t n = 1;
  for (const Axis &axis : axes)
    n *= axis.parts();
  return n;
}
int64_t ConvKernel::tiles() const {
  int64_t n = 1;
  for (const Axis &axis : axes)
    n *= axis.tiles();
  return n;
}
int64_t ConvKernel::items() const {
  const int64_t groups = (images - 1) / together + 1;
  return kind == Filter ? blocks() * parts() : groups * tiles() * blocks();
}

Operation *convOf(Region &body) {
  for (Operation &op : body.front())
    if (isa<ir::ConvOp, ir::ConvBackwardDataOp, ir::ConvBackwardFilterOp>(op) &&
        cast<ir::PlaceableInterface>(op).getBy() == ir::By::Generated)
      return &op;
  return nullptr;
}

ConvKernel convKernel(Operation *op) {
  ConvKernel k = llvm::TypeSwitch<Operation *, ConvKernel>(op)
                     .Case([](ir::ConvOp conv) {
                       ConvKernel k =
                           loopsOf(conv, ConvKernel::Forward, conv.getX(),
                                   conv.getW(), conv.getY());
                       k.hasBias = bool(conv.getBias());
                       return k;
                     })
                     .Case([](ir::ConvBackwardDataOp conv) {
                       return loopsOf(conv, ConvKernel::Data, conv.getDy(),
                                      conv.getW(), conv.getDx());
                     })
                     .Case([](ir::ConvBackwardFilterOp conv) {
                       return loopsOf(conv, ConvKernel::Filter, conv.getX(),
                                      conv.getDw(), conv.getDy());
                     });
  schedule(k);
  return k;
}

std::string whyNoConvKernel(Operation *op) {
  for (Value v : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                     llvm::to_vector(op->getResults())))
    if (tensorType(v).getNumElements() == 0)
      return "it has no elements";
  const bool isLast =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case<ir::ConvOp, ir::ConvBackwardDataOp, ir::ConvBackwardFilterOp>(
              [](auto conv) { return conv.getLayout() == "nhwc"; });
  if (!isLast)
    return "images are channels first";
  const ConvKernel k = convKernel(op);
  if (int64_t n = k.taps() * k.planes(); n > kMostProducts)
    return std::to_string(n) + " products an element are more than " +
           std::to_string(kMostProducts);
  if (k.copied() > kMostTile)
    return "what a window spans is more than " + std::to_string(kMostTile) +
           " elements";
  return "";
}

} // namespace dlc
