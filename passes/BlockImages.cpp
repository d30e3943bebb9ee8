// SPDX-License-Identifier: Apache-2.0
// Strided convolutions with few channels as convolutions of blocks with stride
// 1:
//   y[o] = sum of xp[s o + i] w[i] over i < k, with i = s a + b and b < s,
//        = sum of x'[o + a, b] w'[a, b] over a < ceil(k / s) and b.
// xp is the padded image; x' has the s^d pixels of a block as channels, as has
// w', which is zero beyond w. Library kernels for 16-bit floats read 8 channels
// at once: for an RGB image most of them would be zeros, in a padded copy that
// each call makes.
#include "compiler/dialect/Expr.h"
#include "compiler/dialect/ops/Windows.h"
#include "passes/Passes.h"
#include "passes/Step.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_BLOCKIMAGES
#include "passes/Passes.h.inc"

namespace {

using ir::Expr;
using Dims = SmallVector<int64_t>;

/// Channels that the library's kernels read at once.
constexpr int64_t kChannels = 8;

/// x with `low` zeros before it, cropped or padded at the end to `sizes`.
Expr fit(Expr x, const Dims &low, const Dims &sizes) {
  const Dims zeros(x.rank(), 0), ones(x.rank(), 1);
  Dims kept, high;
  for (auto [size, first, whole] : llvm::zip_equal(x.shape(), low, sizes)) {
    kept.push_back(std::min(size, whole - first));
    high.push_back(whole - first - kept.back());
  }
  if (x.shape() != ir::Ints(kept))
    x = x.make<ir::SliceOp>(x.v, zeros, kept, ones);
  if (x.shape() != ir::Ints(sizes))
    x = x.make<ir::PadOp>(x.v, low, high, zeros, llvm::APFloat(0.0));
  return x;
}

/// The input that `x` is a cast of; else `x`. `casts` are the types of the
/// casts, the last one first. A cast shares a kernel with movements before it;
/// if an op computes x, the cast should stay there.
Expr behindCasts(Expr x, SmallVectorImpl<Type> &casts) {
  Value v = x.v;
  while (auto cast = v.getDefiningOp<ir::CastOp>()) {
    casts.push_back(ir::elementType(v));
    v = cast.getX();
  }
  if (isa<BlockArgument>(v))
    return Expr(*x.b, x.loc, v);
  casts.clear();
  return x;
}

/// x [N, C, ...] as blocks of `side` along each dimension, `counts` of them
/// after `low` zeros: [N, C side^d, counts...], with C padded to a number that
/// kernels handle well. Whole blocks are cropped or padded if possible: after
/// the reshape, in one kernel with the transpose.
Expr blocksOf(Expr x, ir::Ints low, ir::Ints counts, int64_t side) {
  const int64_t rows = x.shape()[0], dims = counts.size();
  int64_t channels = x.shape()[1], area = 1;
  Dims zeros{0, 0}, sizes{rows, channels}, split(sizes); // of pixels
  Dims skipped{0}, blocks{rows}, order{0}, channelsFirst{0, dims + 1};
  for (auto [size, first, count] :
       llvm::zip_equal(x.shape().drop_front(2), low, counts)) {
    const int64_t given = llvm::divideCeil(first % side + size, side);
    zeros.push_back(first % side);
    sizes.push_back(given * side);
    order.push_back(split.size());
    split.append({given, side});
    skipped.push_back(first / side);
    channelsFirst.push_back(blocks.size());
    blocks.push_back(count);
    area *= side;
  }
  channels = llvm::alignTo(channels, kChannels / std::gcd(kChannels, area));
  Dims whole(blocks), result{rows, channels * area};
  llvm::append_range(result, counts);
  blocks.push_back(channels * area);
  whole.push_back(channels);
  whole.append(dims, side);
  skipped.resize(whole.size());
  order.push_back(1);
  for (int64_t d = 0; d < dims; ++d)
    order.push_back(3 + 2 * d);

  SmallVector<Type> casts;
  x = behindCasts(fit(x, zeros, sizes), casts).reshape(split);
  x = fit(x.make<ir::TransposeOp>(x.v, order), skipped, whole);
  for (Type element : llvm::reverse(casts))
    x = x.cast(element);
  x = x.reshape(blocks);
  if (llvm::all_of(counts, [](int64_t n) { return n == 1; }))
    return x.reshape(result); // no element moves
  return x.make<ir::TransposeOp>(x.v, channelsFirst);
}

/// Whether v depends on a trainable state.
bool isTrained(Value v, SymbolTable &symbols) {
  llvm::SetVector<Value> behind;
  behind.insert(v);
  for (size_t i = 0; i < behind.size(); ++i) {
    Operation *op = behind[i].getDefiningOp();
    if (!op)
      continue;
    if (auto read = dyn_cast<ir::ReadOp>(op))
      if (symbols.lookup<ir::StateOp>(read.getState()).getTrainable())
        return true;
    behind.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

bool isFor(ir::ConvOp conv, SymbolTable &symbols) {
  const WindowSizes window =
      windowOf(conv, ir::tensorType(conv.getW()).getShape());
  const int64_t side = window.strides.front();
  auto all = [](auto sizes, auto holds) { return llvm::all_of(sizes, holds); };
  return ir::isHalf(ir::elementType(conv.getX())) && conv.getGroup() == 1 &&
         conv.getLayout() == "nchw" && !conv.getFiltersLast() &&
         ir::tensorType(conv.getX()).getDimSize(1) < kChannels && side > 1 &&
         all(window.strides, [&](int64_t n) { return n == side; }) &&
         all(window.dilations, [](int64_t n) { return n == 1; }) &&
         all(window.kernel, [&](int64_t n) { return n >= side; }) &&
         // Windows that only read padding are not worth a special case.
         all(llvm::zip(window.kernel, window.pads.first(window.kernel.size())),
             [](auto sizes) {
               auto [kernel, low] = sizes;
               return low >= 0 && low < kernel;
             }) &&
         !isTrained(conv.getX(), symbols); // its gradient would be moved back
}

void rewrite(ir::ConvOp conv) {
  OpBuilder b(conv);
  const Expr x(b, conv.getLoc(), conv.getX()), w(b, conv.getLoc(), conv.getW());
  const ir::Ints outputs = ir::tensorType(conv.getY()).getShape().drop_front(2);
  const int64_t side = conv.getStrides().front();
  const Dims ones(outputs.size(), 1);
  // Zeros before the image are whole blocks, with some before the filter.
  Dims before, shifts, taps, counts;
  for (auto [kernel, n, low] :
       llvm::zip(w.shape().drop_front(2), outputs, conv.getPads())) {
    before.push_back(llvm::alignTo(low, side));
    shifts.push_back(before.back() - low);
    taps.push_back(llvm::divideCeil(shifts.back() + kernel, side));
    counts.push_back(n + taps.back() - 1);
  }
  const Expr images = blocksOf(x, before, counts, side);
  const Expr filters = blocksOf(w, shifts, taps, side);
  const Expr y = x.make<ir::ConvOp>(
      images.v, filters.v, conv.getBias(), ones, Dims(2 * outputs.size(), 0),
      ones, /*group=*/1, conv.getLayout(), /*filters_last=*/false);
  conv->replaceAllUsesWith(ValueRange(y.v));
  conv.erase();
}

struct BlockImages : impl::BlockImagesBase<BlockImages> {
  using BlockImagesBase::BlockImagesBase;

  void runOnOperation() final {
    SymbolTable symbols(getOperation());
    for (auto f : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ir::ConvOp> convs;
      for (auto conv : f.getOps<ir::ConvOp>())
        if (isFor(conv, symbols))
          convs.push_back(conv);
      llvm::for_each(convs, rewrite);
      if (!convs.empty())
        eraseUnused(f); // casts
    }
  }
};

} // namespace

} // namespace dlc
