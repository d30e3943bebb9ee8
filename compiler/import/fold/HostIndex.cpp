// SPDX-License-Identifier: Apache-2.0
// Operators whose result size depends on values: they are folded, or rejected.
#include "compiler/import/fold/HostEval.h"
#include <numeric>

namespace dlc::import {
namespace {

HostResults nonZero(HostCall &call) {
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
  return one(std::move(y));
}

/// torch's older exporter uses OneHot to count repeats of repeat_interleave.
HostResults oneHot(HostCall &call) {
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
  return one(std::move(y));
}

} // namespace

void addHostIndex(HostOps &ops) {
  ops["NonZero"] = {1, nonZero};
  ops["OneHot"] = {3, oneHot};
}

} // namespace dlc::import
