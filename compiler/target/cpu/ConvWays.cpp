// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/ConvWays.h"
#include "compiler/dialect/ops/Windows.h"
#include "compiler/kernel/ConvKernel.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc {
namespace {

/// Rates of one core, in the proportions of a Zen 3: FLOP/s of the library, of
/// Winograd's products and of generated loops; bytes/s of transforms, which
/// read and write in caches.
constexpr double kLibrary = 75e9, kProducts = 70e9, kGenerated = 20e9,
                 kTransforms = 20e9;
/// Rates of the library in bf16, with product instructions (kFilters: for
/// filter gradients) and with AMX tiles. Winograd's products are always f32. On
/// a Zen 4, ms on two cores, batch 8, 3x3:
///                   library: forward data filter   4x4 tiles: the same
///    64->64  @56           4.2  4.0  4.9                3.2  3.1  3.7
///   128->128 @28           4.2  4.1  4.4                3.2  2.9  3.1
///   256->256 @14           4.4  3.9  4.3                4.5  4.5  3.8
///   512->512 @7            5.4  4.0  5.9                4.6  4.8  4.9
constexpr double kBf16 = 180e9, kFilters = 130e9, kAmx = 600e9;
/// Channels per block.
constexpr int64_t kBlock = 16;
/// Summed channels from which 4x4 tiles have at most twice the rounding error
/// of the direct form: they lose digits in transforms, but fewer in sums.
constexpr int64_t kFewSummed = 64;

/// Shapes of the convolution that `op` is, or is a gradient of.
struct Shapes {
  RankedTensorType x, y;
  WindowSizes window;
  int64_t group;
  bool isLast, isFilter, isData;

  template <class Op>
  Shapes(Op op, Value x, Value w, Value y)
      : x(ir::tensorType(x)), y(ir::tensorType(y)),
        window(ir::windowOf(op, ir::tensorType(w).getShape())),
        group(op.getGroup()), isLast(op.getLayout() == "nhwc"),
        isFilter(isa<ir::ConvBackwardFilterOp>(op)),
        isData(isa<ir::ConvBackwardDataOp>(op)) {}

  static Shapes of(Operation *op) {
    return llvm::TypeSwitch<Operation *, Shapes>(op)
        .Case([](ir::ConvOp conv) {
          return Shapes(conv, conv.getX(), conv.getW(), conv.getY());
        })
        .Case([](ir::ConvBackwardDataOp conv) {
          return Shapes(conv, conv.getDx(), conv.getW(), conv.getDy());
        })
        .Case([](ir::ConvBackwardFilterOp conv) {
          return Shapes(conv, conv.getX(), conv.getDw(), conv.getDy());
        });
  }

  int64_t inputs() const { return x.getShape().back(); }
  int64_t outputs() const { return y.getShape().back(); }
  /// FLOPs of the direct form.
  double flops() const {
    return 2.0 * y.getNumElements() * (inputs() / group) * window.taps();
  }
};

std::string whyNoWinograd(const Shapes &s) {
  auto are = [](auto sizes, int64_t n) {
    return llvm::all_of(sizes, [=](int64_t size) { return size == n; });
  };
  Type element = s.x.getElementType();
  if (!element.isF32() && !ir::isHalf(element))
    return "elements are neither f32 nor 16-bit floats";
  if (!s.isLast)
    return "images are channels first";
  if (s.window.kernel.size() != 2 || !are(s.window.kernel, 3) ||
      !are(s.window.strides, 1) || !are(s.window.dilations, 1))
    return "the window is not 3x3 with stride and dilation 1";
  if (s.group != 1)
    return "it has groups";
  if (s.inputs() % kBlock || s.outputs() % kBlock)
    return "channels are no multiple of " + std::to_string(kBlock);
  return s.x.getNumElements() == 0 || s.y.getNumElements() == 0
             ? "it has no elements"
             : "";
}

/// Time of products for tiles of tile x tile elements, and of all transforms.
double secondsOf(const Shapes &s, int64_t tile) {
  auto of = (s.isData ? s.x : s.y).getShape();
  const double planes = double(tile + 2) * double(tile + 2),
               tiles = double(of[0]) * llvm::divideCeil(of[1], tile) *
                       llvm::divideCeil(of[2], tile),
               filters = double(s.inputs()) * s.outputs();
  // Tiles of the filter gradient come from the shared cache.
  const double moved =
      2 * sizeof(float) * planes *
      ((s.isFilter ? 2 : 1) * tiles * (s.inputs() + s.outputs()) + filters);
  return 2 * planes * tiles * filters / kProducts + moved / kTransforms;
}

/// 16-bit types that the CPU cannot multiply are converted to f32 and back.
double libraryRate(const Shapes &s, const CpuTarget &target) {
  Type element = s.x.getElementType();
  if (element.isF32())
    return kLibrary;
  if (target.hasAmx)
    return kAmx;
  if (!element.isBF16() || !target.has("avx512bf16"))
    return kLibrary;
  return s.isFilter ? kFilters : kBf16;
}

/// oneDNN computes gradients of 16-bit types in plain loops if groups have one
/// channel, and pads small groups to a vector's width. GFLOP/s of oneDNN /
/// generated kernels, 3x3 at 28x28, one busy thread of a Xeon with AVX-512:
///   channels a group       2          3          4          8
///   f32 forward         7 /  6    10 /  6    20 /  9    31 /  9
///       data            5 / 13     8 /  5    17 /  8    24 /  9
///       filter          4 /  5    11 /  4    15 / 10    35 / 11
///   bf16 forward        2 /  5     2 /  2     6 /  7    14 /  7
///       data            2 /  6     2 /  2     5 /  6    12 /  5
///       filter          1 /  5     1 /  4     2 /  5    11 /  3
/// A single group of few channels has too few results for vectors.
bool areGeneratedFast(Operation *op) {
  const ConvKernel kernel = convKernel(op);
  const bool isHalfFilter = kernel.kind == ConvKernel::Filter &&
                            ir::isHalf(ir::elementType(op->getResult(0)));
  const bool isGrouped = kernel.channels > kernel.own;
  return isGrouped && kernel.planes() <= (isHalfFilter ? 4 : 2);
}

} // namespace

Ways waysOfConv(ir::PlaceableInterface op, const CpuTarget &target, bool fast) {
  const Shapes s = Shapes::of(op);
  Way library{By::Library}, generated{By::Generated, whyNoConvKernel(op)},
      small{By::Winograd2, whyNoWinograd(s)},
      large{By::Winograd4, small.whyNot};
  if (!small.whyNot.empty())
    return generated.whyNot.empty() && areGeneratedFast(op)
               ? Ways{generated, library, small, large}
               : Ways{library, generated, small, large};
  if (!fast)
    large.caveat = "not with --conv-error=direct";
  else if (s.x.getElementType().isF32() && !s.isFilter &&
           (s.isData ? s.outputs() : s.inputs()) < kFewSummed)
    large.caveat = "it rounds more than twice as much as the direct form";
  library.seconds = s.flops() / libraryRate(s, target);
  generated.seconds = s.flops() / kGenerated;
  small.seconds = secondsOf(s, 2);
  large.seconds = secondsOf(s, 4);
  return {library, generated, small, large};
}

} // namespace dlc
