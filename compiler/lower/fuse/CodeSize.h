// SPDX-License-Identifier: Apache-2.0
// How much code a cluster becomes.
#pragma once

#include "mlir/IR/Operation.h"

namespace dlc {

/// Most code of a kernel that was joined: the time to make it grows faster than
/// its size.
constexpr size_t kMaxCode = 256;
/// Most operands of a concat in a kernel; each is a branch.
constexpr size_t kMaxParts = 64;

/// The code of one kernel for these ops of a block, in cheap operations. An op
/// counts once for each place where its elements are needed: at the index of
/// each transpose, slice, pad or operand of a concat through which they are
/// read, and in each pass over the rows. Stops counting behind kMaxCode; the
/// time is linear in the ops and kMaxCode.
size_t codeSize(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace dlc
