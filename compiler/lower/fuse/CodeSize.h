// SPDX-License-Identifier: Apache-2.0
// Estimates the code size of a cluster.
#pragma once

#include "mlir/IR/Operation.h"

namespace dlc {

/// Largest code size of a fused kernel: compile time grows superlinearly.
constexpr size_t kMaxCode = 256;
/// Largest number of operands of a concat in a kernel; each is a branch.
constexpr size_t kMaxParts = 64;

/// The code size of one kernel for these ops of a block, in cheap operations.
/// An op is counted once for each place where its elements are computed: at the
/// index of each transpose, slice, pad or concat operand through which they are
/// read, and in each pass over the rows. Stops above kMaxCode; the time is
/// linear in the number of ops and kMaxCode.
size_t codeSize(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace dlc
