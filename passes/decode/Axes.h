// SPDX-License-Identifier: Apache-2.0
// Which parts of a value's dimensions are the texts and tokens of a batch.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace dlc::decode {

enum class Axis : uint8_t { Free, Batch, Time };

struct Factor {
  Axis axis;
  int64_t size;
  bool operator==(const Factor &) const = default;
};

/// The factors of a dimension, the slowest first: [Batch 2, Time 6] of the 12
/// tokens of two texts. None of size 1; free neighbours are one factor.
using Dim = llvm::SmallVector<Factor, 2>;
using Dims = llvm::SmallVector<Dim, 4>;

/// Dimensions of what has nothing to do with texts and tokens.
Dim freeDim(int64_t size);
Dims freeDims(llvm::ArrayRef<int64_t> shape);

bool isFree(const Dim &dim);
bool has(const Dim &dim, Axis axis);
int64_t sizeOf(const Dim &dim);

/// The size where there is one text of `tokens` tokens.
int64_t rowSize(const Dim &dim, int64_t tokens);
llvm::SmallVector<int64_t> rowShape(const Dims &dims, int64_t tokens);

/// The dimensions of a reshape to `shape`; nullopt if it cuts texts or tokens.
std::optional<Dims> regroup(const Dims &dims, llvm::ArrayRef<int64_t> shape);

} // namespace dlc::decode
