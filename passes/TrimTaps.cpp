// SPDX-License-Identifier: Apache-2.0
// Convolutions without the taps that only read padding: a 3x3 window whose
// dilation is at least the image's size, as in pyramids of dilated
// convolutions, is the window of its middle tap. The other taps' weights get
// gradients of zero, as before.
#include "compiler/dialect/ops/Windows.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_TRIMTAPS
#include "passes/Passes.h.inc"

namespace {

/// Whether any output's tap reads one of `in` elements.
bool isRead(const Sliding &window, int64_t in, int64_t tap) {
  for (int64_t output = 0; output < window.outputs(in); ++output)
    if (const int64_t at = window.at(output, tap); at >= 0 && at < in)
      return true;
  return false;
}

/// `window` from the first to the last tap that reads one of `in` elements, and
/// the number of taps before. `window` itself if no tap does, or if its padding
/// would be negative.
std::pair<Sliding, int64_t> trimmed(const Sliding &window, int64_t in) {
  int64_t first = 0, last = window.kernel - 1;
  while (first < last && !isRead(window, in, first))
    ++first;
  while (last > first && !isRead(window, in, last))
    --last;
  Sliding result = window;
  result.kernel = last - first + 1;
  result.low -= first * window.dilation;
  result.high -= (window.kernel - 1 - last) * window.dilation;
  if (!isRead(window, in, first) || result.low < 0 || result.high < 0)
    return {window, 0};
  if (result.kernel == 1)
    result.dilation = 1;
  return {result, first};
}

void trim(ir::ConvOp op) {
  const auto type = ir::tensorType(op.getW());
  const ir::Ints weights = type.getShape(),
                 x = ir::tensorType(op.getX()).getShape();
  const WindowSizes window = ir::windowOf(op, weights);
  const size_t count = window.kernel.size(), images = x.size() - count,
               filters = weights.size() - count; // their spatial dimensions
  SmallVector<int64_t> starts(weights.size()), sizes(weights),
      steps(weights.size(), 1), pads(op.getPads()),
      dilations(op.getDilations());
  for (size_t d = 0; d < count; ++d) {
    const auto [along, first] = trimmed(window.along(d), x[images + d]);
    starts[filters + d] = first, sizes[filters + d] = along.kernel;
    pads[d] = along.low, pads[count + d] = along.high;
    dilations[d] = along.dilation;
  }
  if (ir::Ints(sizes) == weights)
    return;
  OpBuilder builder(op);
  op.getWMutable().set(ir::SliceOp::create(builder, op.getLoc(),
                                           type.clone(sizes), op.getW(), starts,
                                           sizes, steps));
  op.setPads(pads);
  op.setDilations(dilations);
}

struct TrimTaps : impl::TrimTapsBase<TrimTaps> {
  using TrimTapsBase::TrimTapsBase;
  void runOnOperation() final { getOperation().walk(trim); }
};

} // namespace
} // namespace dlc
