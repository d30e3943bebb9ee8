// SPDX-License-Identifier: Apache-2.0
// ONNX's rules for axes, slices, reshapes and broadcasts on static shapes,
// shared by the host evaluator and the rows that build dlc ops.
#pragma once
#include "runtime/base/Status.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dlc::import {

using Shape = std::vector<int64_t>;

std::string toString(const Shape &shape); // "[2, 3]"

/// Rank above which a tensor is refused.
constexpr int kMaxRank = 8;

/// The number of elements of `dims`. Errors, which name `what`: a negative
/// dimension, a rank above kMaxRank, or a product of nonzero dimensions above
/// 2^40. All functions below check their shapes in this way.
Result<int64_t> countElements(const std::vector<int64_t> &dims,
                              const std::string &what);

/// `axis` in [0, rank) for one in [-rank, rank).
Result<int64_t> normalizeAxis(int64_t axis, int64_t rank);
/// Sorted, distinct, non-negative; all axes of `rank` if `axes` is empty.
Result<std::vector<int64_t>> normalizeAxes(const std::vector<int64_t> &axes,
                                           int64_t rank);

/// Non-negative `perm`; an error unless it has each axis of `rank` once, in
/// [-rank, rank).
Result<std::vector<int64_t>> normalizePerm(const std::vector<int64_t> &perm,
                                           int64_t rank);

/// Numpy's broadcast of two shapes.
Result<Shape> broadcastShapes(const Shape &a, const Shape &b);

/// ONNX Reshape: -1 is inferred, 0 copies x's dimension unless `allowZero`.
Result<Shape> resolveReshape(const Shape &x, const Shape &target,
                             bool allowZero);

/// One entry per dimension: y[i] = x[starts + i * steps], `sizes` elements.
struct SliceBounds {
  std::vector<int64_t> starts, sizes, steps;
};
/// ONNX Slice: negative positions are relative to the end, all are clamped.
/// `axes` empty: the first starts.size(); `steps` empty: 1.
Result<SliceBounds> resolveSlice(const Shape &x,
                                 const std::vector<int64_t> &starts,
                                 const std::vector<int64_t> &ends,
                                 const std::vector<int64_t> &axes,
                                 const std::vector<int64_t> &steps);

Result<Shape> squeezeShape(const Shape &x,
                           std::optional<std::vector<int64_t>> axes);
Result<Shape> unsqueezeShape(const Shape &x, const std::vector<int64_t> &axes);

/// ONNX Tile: each dimension is multiplied by its repeats.
Result<Shape> tileShape(const Shape &x, const std::vector<int64_t> &repeats);

/// ONNX Flatten: 2-D, with the dimensions before `axis` (in [-rank, rank]) and
/// the others multiplied.
Result<Shape> flattenShape(const Shape &x, int64_t axis);

/// Sizes along an axis of size `size`: `split` if given, else `parts` equal
/// sizes, with a smaller last one if not divisible.
Result<std::vector<int64_t>> splitSizes(int64_t size,
                                        const std::vector<int64_t> &split,
                                        int64_t parts, int64_t outputs);

} // namespace dlc::import
