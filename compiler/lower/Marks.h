// SPDX-License-Identifier: Apache-2.0
// Attributes by which lowering's passes communicate.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dlc {

/// Distinguishes an op from an equal op for another state until fusion, so that
/// common subexpression elimination does not merge them.
constexpr llvm::StringLiteral kApart = "dlc.apart";

/// A slice that aliases a range of its operand's memory, or a concat whose
/// operands alias ranges of its result: neither copies data.
constexpr llvm::StringLiteral kInPlace = "dlc.in_place";

/// An add that overwrites its first operand, which has no later use. On a
/// cluster: the indices of that result and that input.
constexpr llvm::StringLiteral kOverwrites = "dlc.overwrites";

/// A cluster that is part of one launch with others, before all commands.
constexpr llvm::StringLiteral kJoined = "dlc.joined";

/// On a call that accesses a part of its operands: the bytes that it moves.
constexpr llvm::StringLiteral kMoved = "dlc.moved";

/// On a launch whose items are sharded over ranks: the number of elements of an
/// item, which dlc-number-parts sets. Plans have it, too (plan::itemOf).
constexpr llvm::StringLiteral kItem = "shard";

/// On such a launch: the indices of results that are all-gathered after it.
constexpr llvm::StringLiteral kGather = "gather";

/// On a sharded parameter, two numbers: the bucket of its gradient, with whose
/// parameters it is gathered, and the group that is updated together.
constexpr llvm::StringLiteral kTogether = "dlc.together";

/// On such a launch: the bucket of its gradients, or its parameters' kTogether.
/// Only launches with equal values are merged.
constexpr llvm::StringLiteral kBucket = "bucket";

/// On a global_norm or all_finite: the device has no call for it. Clusters that
/// sum whole or sharded gradients replace it (dlc-shard, dlc-join-norms).
constexpr llvm::StringLiteral kOfParts = "dlc.of_parts";

} // namespace dlc
