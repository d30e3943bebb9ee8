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
  return shape.batch * llvm::divideCeil(shape.rows, rows) *
         llvm::divideCeil(shape.columns, columns);
}
int64_t Tiling::steps(const ProductShape &shape) const {
  return llvm::divideCeil(shape.depth, depth);
}

llvm::ArrayRef<Tiling> tilings() { return kTilings; }

Tiling tilingOf(const ProductShape &shape) {
  for (const Tiling &t : kTilings)
    if (t.blocks(shape) >= kProcessors && shape.rows > t.rows / 2 &&
        shape.columns > t.columns / 2)
      return t;
  return *std::rbegin(kTilings);
}

} // namespace dlc
