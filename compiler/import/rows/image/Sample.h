// SPDX-License-Identifier: Apache-2.0
// Values between the elements of images, at places that the model computes.
#pragma once
#include "compiler/import/rows/Build.h"

namespace dlc::import {

/// mode: nearest, linear or cubic; padding: zeros, border or reflection.
struct Grid {
  std::string mode, padding;
  bool align;
};

/// An index of any size as one of the dimension, and how much it counts.
struct Tap {
  Expr index, weight;
};

/// The elements along one dimension that count for coordinate x, of floats.
std::vector<Tap> tapsOf(const Grid &grid, Expr x, int64_t size);

/// Each of `taps` with each of `next`, whose indices are `stride` apart.
std::vector<Tap> combined(const std::vector<Tap> &taps,
                          const std::vector<Tap> &next, int64_t stride);

/// The rows [count, channels] that the taps name, of which there is one at
/// least, times their weights, added in order: [a tap's shape, channels].
Expr sampled(Expr rows, const std::vector<Tap> &taps);

Expr floorOf(Expr x);
/// 0 ... size - 1 along `axis` of `rank` dimensions, the others of 1.
Expr ramp(const Node &n, int64_t rank, int64_t axis, int64_t size,
          mlir::Type element);

} // namespace dlc::import
