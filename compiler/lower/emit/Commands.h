// SPDX-License-Identifier: Apache-2.0
// What passes over commands share.
#pragma once

#include "compiler/dialect/Exec.h"
#include "compiler/lower/memory/StateLayout.h"

namespace dlc {

/// Which bytes of a region a buffer is.
struct BufferRange {
  llvm::StringRef region;
  int64_t begin, end;
  bool overlaps(const BufferRange &o) const {
    return region == o.region && begin < o.end && o.begin < end;
  }
};

inline BufferRange rangeOf(mlir::Value buffer) {
  auto op = buffer.getDefiningOp<exec::BufferOp>();
  const int64_t begin = op.getOffset();
  return {op.getRegion(), begin,
          begin + byteSize(mlir::cast<mlir::MemRefType>(buffer.getType()))};
}
/// Whether two of the buffers share bytes.
inline bool overlap(mlir::ValueRange some, mlir::ValueRange others) {
  return llvm::any_of(some, [&](mlir::Value v) {
    return llvm::any_of(others, [&](mlir::Value other) {
      return rangeOf(v).overlaps(rangeOf(other));
    });
  });
}

/// Erases kernels and buffers that no command has.
void eraseUnused(mlir::ModuleOp module);

} // namespace dlc
