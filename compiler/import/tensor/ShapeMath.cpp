// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/ShapeMath.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <numeric>

namespace dlc::import {
namespace {

constexpr int64_t kMaxElements = int64_t(1) << 40;

/// Returns `shape` if it is valid for a tensor.
Result<Shape> checked(Shape shape) {
  DLC_TRY(countElements(shape, "the result").status());
  return shape;
}

} // namespace

std::string toString(const Shape &shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<int64_t> countElements(const std::vector<int64_t> &dims,
                              const std::string &what) {
  if (dims.size() > kMaxRank)
    return badModel("{} has rank {}, expected at most {}", what, dims.size(),
                    kMaxRank);
  __int128 count = 1, nonZero = 1;
  for (int64_t dim : dims) {
    if (dim < 0)
      return badModel("{} has a negative dimension {}", what, dim);
    count *= dim;
    nonZero *= std::max<int64_t>(dim, 1);
    if (nonZero > kMaxElements)
      return badModel("{} has more than 2^40 elements", what);
  }
  return static_cast<int64_t>(count);
}

Result<int64_t> normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return badModel("axis {} is out of range for rank {}", axis, rank);
  return axis < 0 ? axis + rank : axis;
}

Result<std::vector<int64_t>> normalizeAxes(const std::vector<int64_t> &axes,
                                           int64_t rank) {
  std::vector<int64_t> result;
  for (int64_t axis : axes) {
    DLC_ASSIGN(auto normal, normalizeAxis(axis, rank));
    result.push_back(normal);
  }
  if (axes.empty()) {
    result.resize(rank);
    std::iota(result.begin(), result.end(), 0);
  }
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    return badModel("axes {} repeat a dimension", toString(axes));
  return result;
}

Result<std::vector<int64_t>> normalizePerm(const std::vector<int64_t> &perm,
                                           int64_t rank) {
  auto sorted = normalizeAxes(perm, rank);
  if (!sorted.ok() || int64_t(perm.size()) != rank)
    return badModel("perm {} is not a permutation for rank {}", toString(perm),
                    rank);
  std::vector<int64_t> result;
  for (int64_t axis : perm)
    result.push_back(axis < 0 ? axis + rank : axis);
  return result;
}

Result<Shape> broadcastShapes(const Shape &a, const Shape &b) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return badModel("shapes {} and {} do not broadcast", toString(a),
                      toString(b));
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return checked(std::move(result));
}

Result<Shape> resolveReshape(const Shape &x, const Shape &target,
                             bool allowZero) {
  auto fail = [&] {
    return badModel("cannot reshape {} to {}", toString(x), toString(target));
  };
  if (target.size() > kMaxRank)
    return badModel("cannot reshape {} to rank {}, expected at most {}",
                    toString(x), target.size(), kMaxRank);
  Shape result = target;
  __int128 total = 1, known = 1;
  for (int64_t dim : x)
    total *= dim;
  int64_t inferred = -1;
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i] == 0 && !allowZero) {
      if (i >= x.size())
        return fail();
      result[i] = x[i];
    }
    if (result[i] == -1) {
      if (inferred >= 0)
        return fail();
      inferred = i;
      continue;
    }
    known *= result[i];
    if (result[i] < 0 || known > (__int128(1) << 62))
      return fail();
  }
  if (inferred >= 0) {
    if (known == 0 || total % known != 0)
      return fail();
    result[inferred] = int64_t(total / known);
  } else if (known != total) {
    return fail();
  }
  return checked(std::move(result));
}

static int64_t each(const std::vector<int64_t> &given, size_t i,
                    int64_t otherwise) {
  return given.empty() ? otherwise : given[i];
}

Result<SliceBounds> resolveSlice(const Shape &x,
                                 const std::vector<int64_t> &starts,
                                 const std::vector<int64_t> &ends,
                                 const std::vector<int64_t> &axes,
                                 const std::vector<int64_t> &steps) {
  const size_t count = starts.size();
  if (ends.size() != count || (!axes.empty() && axes.size() != count) ||
      (!steps.empty() && steps.size() != count))
    return badModel("slice has {} starts, {} ends, {} axes and {} steps; "
                    "expected as many of each",
                    count, ends.size(), axes.size(), steps.size());
  SliceBounds bounds{Shape(x.size(), 0), x, Shape(x.size(), 1)};
  std::vector<bool> seen(x.size(), false);
  for (size_t i = 0; i < count; ++i) {
    DLC_ASSIGN(auto axis, normalizeAxis(each(axes, i, int64_t(i)), x.size()));
    if (seen[axis])
      return badModel("slice names axis {} twice", axis);
    seen[axis] = true;
    int64_t size = x[axis], step = each(steps, i, 1);
    if (step == 0 || step == INT64_MIN)
      return badModel("slice step {} is not valid", step);
    // Positions are clamped to [0, size] for positive steps, [-1, size - 1] for
    // negative ones.
    const int64_t low = step > 0 ? 0 : -1, high = size + low;
    auto clamp = [&](int64_t position) {
      if (position < 0)
        position = std::max<int64_t>(position, -size - 1) + size;
      return std::clamp(position, low, high);
    };
    int64_t start = clamp(starts[i]);
    // For a negative step, an end below -size includes element 0.
    int64_t end = clamp(ends[i]);
    int64_t span = step > 0 ? end - start : start - end;
    int64_t stride = std::abs(step);
    if (span > 0) {
      bounds.starts[axis] = start;
      bounds.sizes[axis] = (span - 1) / stride + 1;
    } else {
      bounds.sizes[axis] = 0;
    }
    bounds.steps[axis] = bounds.sizes[axis] > 1 ? step : 1;
  }
  return bounds;
}

Result<Shape> squeezeShape(const Shape &x,
                           std::optional<std::vector<int64_t>> axes) {
  Shape result;
  if (!axes) {
    std::copy_if(x.begin(), x.end(), std::back_inserter(result),
                 [](int64_t dim) { return dim != 1; });
    return result;
  }
  if (axes->empty())
    return x;
  DLC_ASSIGN(auto normal, normalizeAxes(*axes, x.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    bool drop = std::binary_search(normal.begin(), normal.end(), int64_t(i));
    if (drop && x[i] != 1)
      return badModel("cannot squeeze dimension {} of {}", i, toString(x));
    if (!drop)
      result.push_back(x[i]);
  }
  return result;
}

Result<Shape> unsqueezeShape(const Shape &x, const std::vector<int64_t> &axes) {
  if (axes.empty())
    return x;
  if (x.size() + axes.size() > kMaxRank)
    return badModel("{} axes for shape {} give rank {}, expected at most {}",
                    axes.size(), toString(x), x.size() + axes.size(), kMaxRank);
  DLC_ASSIGN(auto normal, normalizeAxes(axes, x.size() + axes.size()));
  Shape result = x;
  for (int64_t axis : normal)
    result.insert(result.begin() + axis, 1);
  return result;
}

Result<Shape> tileShape(const Shape &x, const std::vector<int64_t> &repeats) {
  if (repeats.size() != x.size())
    return badModel("{} repeats for rank {}", repeats.size(), x.size());
  Shape result = x;
  for (size_t d = 0; d < x.size(); ++d)
    if (repeats[d] < 0 || __builtin_mul_overflow(x[d], repeats[d], &result[d]))
      return badModel("repeat {} is not valid for dimension {}", repeats[d],
                      x[d]);
  return checked(std::move(result));
}

Result<Shape> flattenShape(const Shape &x, int64_t axis) {
  const int64_t rank = x.size();
  if (axis < -rank || axis > rank)
    return badModel("axis {} is out of range for rank {}", axis, rank);
  Shape result{1, 1};
  for (int64_t d = 0, split = axis < 0 ? axis + rank : axis; d < rank; ++d)
    result[d < split ? 0 : 1] *= x[d];
  return result;
}

Result<std::vector<int64_t>> splitSizes(int64_t size,
                                        const std::vector<int64_t> &split,
                                        int64_t parts, int64_t outputs) {
  if (!split.empty())
    parts = split.size();
  if (parts != outputs)
    return badModel("{} parts for {} outputs", parts, outputs);
  if (!split.empty()) {
    int64_t left = size;
    for (int64_t part : split) {
      if (part < 0 || part > left)
        return badModel("split {} does not divide dimension {}",
                        toString(split), size);
      left -= part;
    }
    if (left != 0)
      return badModel("split {} does not add up to dimension {}",
                      toString(split), size);
    return split;
  }
  int64_t part = parts > 0 ? (size + parts - 1) / parts : 0;
  int64_t last = size - part * (parts - 1);
  if (parts <= 0 || last < 0)
    return badModel("cannot split dimension {} into {} parts", size, parts);
  std::vector<int64_t> sizes(parts, part);
  sizes.back() = last;
  return sizes;
}

} // namespace dlc::import
