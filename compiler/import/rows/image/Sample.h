// SPDX-License-Identifier: Apache-2.0
// Interpolates images at coordinates that the model computes.
#pragma once
#include "compiler/import/rows/Build.h"

namespace dlc::import {

/// mode: nearest, linear or cubic; padding: zeros, border or reflection.
struct Grid {
  std::string mode, padding;
  bool align;
};

/// An index clamped to the dimension, with its interpolation weight.
struct Tap {
  Expr index, weight;
};

/// The taps along one dimension for float coordinates x.
std::vector<Tap> tapsOf(const Grid &grid, Expr x, int64_t size);

/// All pairs of `taps` and `next`, whose indices have stride `stride`.
std::vector<Tap> combined(const std::vector<Tap> &taps,
                          const std::vector<Tap> &next, int64_t stride);

/// Sum over the taps (at least one) of weight * rows[index], in order; rows
/// [count, channels] to [a tap's shape, channels].
Expr sampled(Expr rows, const std::vector<Tap> &taps);

} // namespace dlc::import
