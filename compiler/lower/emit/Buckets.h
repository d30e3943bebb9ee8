// SPDX-License-Identifier: Apache-2.0
// The collectives of a program, by their numbers, and places in regions.
#pragma once

#include "compiler/dialect/Exec.h"
#include <optional>

namespace dlc {

/// A number that no collective of the program has, nor any above it.
int64_t firstFreeBucket(exec::ProgramOp program);

/// Of a program that reduces gradients (kGradientHead): where, in the parameter
/// region, those begin whose gradients travel together.
llvm::SmallVector<int64_t> parameterBuckets(exec::ProgramOp program);

/// Bytes of a region.
struct RegionRange {
  int64_t begin = 0, end = 0;
  bool operator==(const RegionRange &o) const = default;
  int64_t bytes() const { return end - begin; }
};

/// Where a buffer is; none if it is in another region.
std::optional<RegionRange> rangeInRegion(mlir::Value buffer,
                                         llvm::StringRef region);

} // namespace dlc
