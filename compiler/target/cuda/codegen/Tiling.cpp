// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/Tiling.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace dlc {

/// Larger tiles read less, smaller ones keep more multiprocessors busy.
constexpr Tiling kTilings[] = {
    {128, 64, 32, 4, 2}, {64, 64, 32, 2, 2}, {32, 32, 64, 2, 2}};
/// Multiprocessors of a large device.
constexpr int64_t kProcessors = 132;

int64_t Tiling::blocks(const ProductShape &shape) const {
  return shape.batch *
         (shape.reducesRows ? 1 : llvm::divideCeil(shape.rows, rows)) *
         llvm::divideCeil(shape.columns, columns);
}
int64_t Tiling::steps(const ProductShape &shape) const {
  return llvm::divideCeil(shape.depth, depth);
}
int64_t Tiling::stepsOfBlock(const ProductShape &shape) const {
  return steps(shape) *
         (shape.reducesRows ? llvm::divideCeil(shape.rows, rows) : 1);
}
bool Tiling::fits(const ProductShape &shape) const {
  return !shape.reducesRows ||
         (shape.rows % rows == 0 && shape.columns % columns == 0);
}

llvm::ArrayRef<Tiling> tilings() { return kTilings; }

std::optional<Tiling> tilingOf(const ProductShape &shape) {
  for (const Tiling &t : kTilings)
    if (t.fits(shape) && t.blocks(shape) >= kProcessors &&
        shape.rows > t.rows / 2 && shape.columns > t.columns / 2)
      return t;
  const Tiling &smallest = *std::rbegin(kTilings);
  return smallest.fits(shape) ? std::optional(smallest) : std::nullopt;
}

} // namespace dlc
