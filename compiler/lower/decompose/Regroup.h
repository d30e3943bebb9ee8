// SPDX-License-Identifier: Apache-2.0
// Reshapes of values for reductions in several stages.
#pragma once

#include "compiler/dialect/Expr.h"

namespace dlc {

/// The largest divisor of n that is at most `limit`, or 1.
int64_t largestDivisor(int64_t n, int64_t limit);

/// Images [batch, channels, ...], in either layout, as a matrix split into
/// `parts`: [parts, inner, channels] for channels last, otherwise [batch,
/// channels, pixels]. `inner` is the axis that a part reduces; the remaining
/// axis besides the channels' is 0.
struct ChannelView {
  /// `parts` must divide the number of rows with channels last; 0: enough parts
  /// to fill a device.
  ChannelView(mlir::RankedTensorType images, llvm::StringRef layout,
              int64_t parts = 0);

  llvm::SmallVector<int64_t> shape;
  int64_t inner, channel; // axes of shape
  llvm::SmallVector<int64_t> images, perChannel;

  int64_t parts() const { return shape[0]; }
  int64_t each() const { return shape[inner]; }
  int64_t count() const { return parts() * each(); }
  /// One value per channel, shaped to broadcast over the view.
  ir::Expr vector(ir::Expr channels) const;
  /// One value per channel, shaped to broadcast over the images.
  ir::Expr ofImages(ir::Expr channels) const;
};

/// `v` in the shape of the view. Elementwise ops that compute it are repeated
/// in that shape if `user` is their only user, or if they depend only on values
/// per channel, values per row, and `known`, which is read anyway; without
/// `known`, also if they are cheap and do not read more than they produce.
ir::Expr regroup(ir::Expr v, const ChannelView &view, mlir::Value known,
                 mlir::Operation *user);

} // namespace dlc
