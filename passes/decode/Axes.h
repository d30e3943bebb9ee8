// SPDX-License-Identifier: Apache-2.0
// Tracks which dimensions of a value are the sequences and tokens of a batch.
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

/// The factors of a dimension, from major to minor: [Batch 2, Time 6] for the
/// 12 tokens of two sequences. Factors of size 1 are omitted, and adjacent free
/// factors are merged.
using Dim = llvm::SmallVector<Factor, 2>;
using Dims = llvm::SmallVector<Dim, 4>;

/// Dimensions of values that do not depend on sequences and tokens.
Dim freeDim(int64_t size);
Dims freeDims(llvm::ArrayRef<int64_t> shape);

bool isFree(const Dim &dim);
bool has(const Dim &dim, Axis axis);
int64_t sizeOf(const Dim &dim);

/// The size of the dimension for a single sequence of `tokens` tokens.
int64_t rowSize(const Dim &dim, int64_t tokens);
llvm::SmallVector<int64_t> rowShape(const Dims &dims, int64_t tokens);

/// The dimensions after a reshape to `shape`; nullopt if it would split a
/// sequence or token factor.
std::optional<Dims> regroup(const Dims &dims, llvm::ArrayRef<int64_t> shape);

} // namespace dlc::decode
