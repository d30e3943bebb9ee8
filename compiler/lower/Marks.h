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

/// A cluster that is a part of one launch with others, before all commands.
constexpr llvm::StringLiteral kJoined = "dlc.joined";

/// Of a launch of which each rank runs some items: elements of an item, which
/// dlc-number-parts knows.
constexpr llvm::StringLiteral kShard = "shard";

/// Of such a launch: the numbers of its results that are to be whole behind it.
constexpr llvm::StringLiteral kGather = "gather";

/// Of an op, and of its call: the device has no such call. Kernels of ranks'
/// parts take its place (dlc-scatter-gradients).
constexpr llvm::StringLiteral kOfParts = "dlc.of_parts";

/// Of a program: bytes at the begin of the gradient region that hold what
/// travels with gradients and belongs to no parameter.
constexpr llvm::StringLiteral kGradientHead = "dlc.gradient_head";

/// Of such a program: where in that region the gradients begin that have half
/// their parameter's size, at half its offset.
constexpr llvm::StringLiteral kNarrowGradients = "dlc.narrow_gradients";

} // namespace dlc
