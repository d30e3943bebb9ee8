// SPDX-License-Identifier: Apache-2.0
// What lowering's passes say to each other by attributes.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace dlc {

/// What keeps an op apart from an equal one, of another owner, until fusion.
constexpr llvm::StringLiteral kApart = "dlc.apart";

/// A slice that is a range of its operand's memory, or a concat whose operands
/// are ranges of its own: no kernel moves them.
constexpr llvm::StringLiteral kInPlace = "dlc.in_place";

/// An add that takes the place of its first operand, which nothing else reads
/// later. Of a cluster: the numbers of that result and of that input.
constexpr llvm::StringLiteral kOverwrites = "dlc.overwrites";

/// A cluster that is a part of one launch with others, before all commands.
constexpr llvm::StringLiteral kJoined = "dlc.joined";

/// Of a call that touches a part of its operands: the bytes that it moves.
constexpr llvm::StringLiteral kMoved = "dlc.moved";

/// Of a launch of which each rank runs some items: elements of an item, which
/// dlc-number-parts knows.
constexpr llvm::StringLiteral kShard = "shard";

/// Of such a launch: the numbers of its results that are to be whole behind it.
constexpr llvm::StringLiteral kGather = "gather";

/// Of a parameter that is a shard, two numbers: the bucket of its gradient,
/// with whose parameters it is gathered, and of those that are updated
/// together.
constexpr llvm::StringLiteral kTogether = "dlc.together";

/// Of such a launch: the bucket of its gradients, or what its parameters have
/// as kTogether. Others are not merged with it.
constexpr llvm::StringLiteral kBucket = "bucket";

/// Of a norm or finiteness: the device has no such call. Clusters that sum
/// gradients, whole or ranks' parts, take its place (dlc-shard,
/// dlc-join-norms).
constexpr llvm::StringLiteral kOfParts = "dlc.of_parts";

} // namespace dlc
