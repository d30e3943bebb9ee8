// SPDX-License-Identifier: Apache-2.0
// The same elements in another grouping of their dimensions, for what reduces
// them in stages of its own.
#pragma once

#include "compiler/dialect/Expr.h"

namespace dlc {

/// Images [batch, channels, ...], in either layout, seen as a matrix cut into
/// `parts`: [parts, inner, channels] where channels come last, otherwise
/// [batch, channels, pixels]. `inner` is the axis of what one part adds up; the
/// other axis that is not the channels' is 0.
struct ChannelView {
  /// `parts` divides the rows of channels that come last; 0: as many as fill a
  /// device.
  ChannelView(mlir::RankedTensorType images, llvm::StringRef layout,
              int64_t parts = 0);

  llvm::SmallVector<int64_t> shape;
  int64_t inner, channel; // axes of shape
  llvm::SmallVector<int64_t> images, perChannel;

  int64_t parts() const { return shape[0]; }
  int64_t each() const { return shape[inner]; }
  int64_t count() const { return parts() * each(); }
  /// One value a channel, so that it broadcasts over the view.
  ir::Expr vector(ir::Expr channels) const;
  /// One value a channel, so that it broadcasts over the images.
  ir::Expr ofImages(ir::Expr channels) const;
};

/// `v` in the shape of the view. Elementwise ops that make it are repeated
/// there if `user` is their only user, or if they need only values of channels,
/// of rows and `known`, which is read anyway; without `known` also if they are
/// cheap and read no more than their results.
ir::Expr regroup(ir::Expr v, const ChannelView &view, mlir::Value known,
                 mlir::Operation *user);

} // namespace dlc
