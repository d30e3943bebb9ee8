#include "compiler/lower/GpuCosts.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace dlc::gpu {

double streaming(double bytes) {
  return kLaunch + bytes / (kBandwidth * kOfBandwidth);
}

double libraryProduct(const ProductShape &shape, double bytes) {
  return kLaunch + std::max(shape.flops() / (kHalfPeak * kOfPeakLibrary),
                            bytes / (kBandwidth * kOfBandwidth));
}

double generatedProduct(const ProductShape &shape, double bytes,
                        OperandCost left, OperandCost right) {
  const Tiling t = tilingOf(shape);
  const int64_t blocks = t.blocks(shape), steps = t.steps(shape);
  const double tiles = double(blocks) * steps * t.depth;
  const double busy = double(llvm::divideCeil(blocks, kProcessors)) *
                      kProcessors / std::max<int64_t>(blocks, 1);
  const double products =
      busy * 2 * tiles * t.rows * t.columns / (kHalfPeak * kOfPeakGenerated);
  const double operations =
      busy * tiles * (t.rows * left.operations + t.columns * right.operations) /
      kSinglePeak;
  const double cache =
      tiles * (t.rows * left.bytes + t.columns * right.bytes) / kCache;
  const double latency =
      kTile * (steps + 1) *
      llvm::divideCeil(blocks, kProcessors * kResidentBlocks);
  return kLaunch + std::max({products + operations, cache, latency,
                             bytes / (kBandwidth * kOfBandwidth)});
}

} // namespace dlc::gpu
