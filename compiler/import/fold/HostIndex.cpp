// SPDX-License-Identifier: Apache-2.0
// Operators whose result size depends on values: they are folded, or rejected.
#include "compiler/import/fold/HostEval.h"
#include <algorithm>
#include <numeric>
#include <optional>

namespace dlc::import {
namespace {

HostResults nonZero(HostCall &call) {
  DLC_TRY(call.require(1));
  const HostTensor &x = *call.input(0);
  if (x.shape.empty())
    return badModel("expected at least rank 1");
  DLC_TRY(call.work(x.elements()));
  std::vector<int64_t> places;
  for (int64_t i = 0, total = x.elements(); i < total; ++i)
    if (x.number(i) != 0)
      places.push_back(i);
  const int64_t count = places.size(), rank = x.shape.size();
  DLC_ASSIGN(auto y, call.make(DType::I64, {rank, count}));
  for (int64_t d = rank; d-- > 0;)
    for (int64_t i = 0; i < count; ++i) {
      y.setInteger(d * count + i, places[i] % x.shape[d]);
      places[i] /= x.shape[d];
    }
  std::vector<HostTensor> results;
  results.push_back(std::move(y));
  return results;
}

/// x split into slices along an axis; without an axis each element is a slice.
struct Slices {
  const HostTensor &x;
  int64_t size, width, inner; // elements of a slice

  int64_t at(int64_t slice, int64_t k) const {
    return (k / inner * size + slice) * inner + k % inner;
  }
  /// Returns -1, 0 or 1; NaN is the largest value.
  int compare(int64_t a, int64_t b) const {
    for (int64_t k = 0; k < width; ++k) {
      const int64_t i = at(a, k), j = at(b, k);
      if (!x.holdsFloats() && x.integer(i) != x.integer(j))
        return x.integer(i) < x.integer(j) ? -1 : 1;
      const double v = x.number(i), w = x.number(j);
      if (x.holdsFloats() && v != w && std::isnan(v) != std::isnan(w))
        return std::isnan(w) ? -1 : 1;
      if (x.holdsFloats() && v != w && !std::isnan(v))
        return v < w ? -1 : 1;
    }
    return 0;
  }
};

/// Groups of equal slices, with the first slice of each.
struct Groups {
  std::vector<int64_t> first, counts, inverse;
};

Groups groupsOf(const Slices &s, bool sorted) {
  std::vector<int64_t> order(s.size);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return s.compare(a, b) < 0; });
  std::vector<std::pair<int64_t, std::vector<int64_t>>> groups;
  for (int64_t slice : order) {
    if (groups.empty() || s.compare(groups.back().first, slice) != 0)
      groups.push_back({slice, {}});
    groups.back().second.push_back(slice);
  }
  if (!sorted)
    std::sort(groups.begin(), groups.end());
  Groups g;
  g.inverse.resize(s.size);
  for (const auto &[first, members] : groups) {
    for (int64_t member : members)
      g.inverse[member] = g.first.size();
    g.first.push_back(first);
    g.counts.push_back(members.size());
  }
  return g;
}

HostResults unique(HostCall &call) {
  DLC_TRY(call.require(1));
  const HostTensor &x = *call.input(0);
  Shape shape{x.elements()};
  int64_t axis = 0;
  if (call.node.has("axis")) {
    shape = x.shape;
    DLC_ASSIGN(axis, normalizeAxis(call.node.integer("axis", 0), shape.size()));
  }
  int64_t width = 1, inner = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    width *= int64_t(d) == axis ? 1 : shape[d];
    inner *= int64_t(d) > axis ? shape[d] : 1;
  }
  constexpr int64_t kComparisons = 64; // estimated per slice in a sort
  DLC_TRY(call.work(x.elements() * kComparisons));
  DLC_TRY(call.work(shape[axis] * kComparisons));
  const Slices slices{x, shape[axis], width, std::max<int64_t>(inner, 1)};
  Groups g = groupsOf(slices, call.node.integer("sorted", 1) != 0);
  const int64_t count = g.first.size();
  shape[axis] = count;
  DLC_ASSIGN(auto y, call.make(x.dtype, shape));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < width; ++k)
      y.copyElement((k / slices.inner * count + i) * slices.inner +
                        k % slices.inner,
                    x, slices.at(g.first[i], k));
  std::vector<HostTensor> results;
  results.push_back(std::move(y));
  for (auto *list : {&g.first, &g.inverse, &g.counts})
    results.push_back(HostTensor::list(std::move(*list)));
  return results;
}

//===--- NonMaxSuppression ------------------------------------------------===//

/// Edges of a box.
struct Box {
  double low[2], high[2];

  double area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

/// Box `i` of [B, N, 4]: two corners, or centre and size.
Box boxAt(const HostTensor &boxes, int64_t i, bool isCentred) {
  Box box;
  for (int d = 0; d < 2; ++d) {
    const double a = boxes.number(4 * i + d), b = boxes.number(4 * i + 2 + d);
    box.low[d] = isCentred ? a - b / 2 : std::min(a, b);
    box.high[d] = isCentred ? a + b / 2 : std::max(a, b);
  }
  return box;
}

double overlapOf(const Box &a, const Box &b) {
  double shared = 1;
  for (int d = 0; d < 2; ++d)
    shared *= std::max(0.0, std::min(a.high[d], b.high[d]) -
                                std::max(a.low[d], b.low[d]));
  const double all = a.area() + b.area() - shared;
  return shared > 0 && a.area() > 0 && b.area() > 0 && all > 0 ? shared / all
                                                               : 0;
}

struct Suppression {
  int64_t most = 0;
  double overlap = 0;
  std::optional<double> score; // a box's score must exceed it
  bool isCentred = false;
};

/// Selected boxes of a batch and class: in order of decreasing score, ties by
/// index, without those that overlap a selected box.
std::vector<int64_t> keptBoxes(const HostTensor &boxes, int64_t firstBox,
                               const HostTensor &scores, int64_t firstScore,
                               const Suppression &by) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < boxes.shape[1]; ++i)
    if (!by.score || scores.number(firstScore + i) > *by.score)
      order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return scores.number(firstScore + a) > scores.number(firstScore + b);
  });
  std::vector<int64_t> kept;
  std::vector<Box> found;
  for (int64_t i : order) {
    if (int64_t(kept.size()) >= by.most)
      break;
    const Box box = boxAt(boxes, firstBox + i, by.isCentred);
    if (std::any_of(found.begin(), found.end(), [&](const Box &other) {
          return overlapOf(box, other) > by.overlap;
        }))
      continue;
    kept.push_back(i);
    found.push_back(box);
  }
  return kept;
}

HostResults nonMaxSuppression(HostCall &call) {
  DLC_TRY(call.require(2));
  const HostTensor &boxes = *call.input(0), &scores = *call.input(1);
  if (boxes.shape.size() != 3 || scores.shape.size() != 3 ||
      boxes.shape[2] != 4 || boxes.shape[0] != scores.shape[0] ||
      boxes.shape[1] != scores.shape[2])
    return badModel("expected boxes [batch, boxes, 4] and scores [batch, "
                    "classes, boxes], found {} and {}",
                    toString(boxes.shape), toString(scores.shape));
  Suppression by;
  auto given = [&](size_t i) { // an empty input is treated as omitted
    return call.input(i) && call.input(i)->elements() ? call.input(i) : nullptr;
  };
  by.most = given(2) ? given(2)->integer(0) : 0;
  by.overlap = given(3) ? given(3)->number(0) : 0;
  if (given(4))
    by.score = given(4)->number(0);
  by.isCentred = call.node.integer("center_point_box", 0) != 0;
  const int64_t count = boxes.shape[1], classes = scores.shape[1];
  const int64_t kept = std::clamp<int64_t>(by.most, 0, count);
  constexpr int64_t kComparisons = 64; // estimated per box in a sort
  DLC_TRY(call.work(scores.elements()));
  for (int64_t i = 0; i < boxes.shape[0] * classes; ++i)
    DLC_TRY(call.work(count * (kComparisons + kept)));
  std::vector<int64_t> found;
  for (int64_t b = 0; b < boxes.shape[0]; ++b)
    for (int64_t c = 0; c < classes; ++c)
      for (int64_t i :
           keptBoxes(boxes, b * count, scores, (b * classes + c) * count, by))
        found.insert(found.end(), {b, c, i});
  std::vector<HostTensor> results;
  const int64_t rows = int64_t(found.size()) / 3;
  results.push_back(HostTensor::list(std::move(found)).reshaped({rows, 3}));
  return results;
}

/// torch's older exporter uses OneHot to count repeats of repeat_interleave.
HostResults oneHot(HostCall &call) {
  DLC_TRY(call.require(3));
  const HostTensor &places = *call.input(0), &depth = *call.input(1),
                   &values = *call.input(2);
  if (depth.elements() != 1 || values.shape != Shape{2} || depth.integer(0) < 0)
    return badModel("expected one depth of 0 or more, and 2 values, found {} "
                    "and {}",
                    depth.elements() == 1 ? std::to_string(depth.integer(0))
                                          : toString(depth.shape),
                    toString(values.shape));
  Shape shape = places.shape;
  DLC_ASSIGN(int64_t axis, normalizeAxis(call.node.integer("axis", -1),
                                         int64_t(shape.size()) + 1));
  const int64_t count = depth.integer(0);
  const int64_t inner = std::accumulate(shape.begin() + axis, shape.end(),
                                        int64_t(1), std::multiplies<int64_t>());
  shape.insert(shape.begin() + axis, count);
  DLC_ASSIGN(auto y, call.make(values.dtype, shape));
  for (int64_t i = 0; i < y.elements(); ++i) {
    int64_t place = places.integer(i / (inner * count) * inner + i % inner);
    place += place < 0 ? count : 0;
    y.copyElement(i, values, place == i / inner % count ? 1 : 0);
  }
  std::vector<HostTensor> results;
  results.push_back(std::move(y));
  return results;
}

} // namespace

void addHostIndex(HostOps &ops) {
  ops["NonMaxSuppression"] = nonMaxSuppression;
  ops["NonZero"] = nonZero;
  ops["OneHot"] = oneHot;
  ops["Unique"] = unique;
}

} // namespace dlc::import
