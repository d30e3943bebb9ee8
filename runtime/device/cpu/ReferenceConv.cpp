// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/ReferenceConv.h"
#include "runtime/device/cpu/Reference.h"

namespace dlc {

template <class F> static void forEachPlace(const Spatial &size, F &&fn) {
  Spatial at;
  for (at[0] = 0; at[0] < size[0]; ++at[0])
    for (at[1] = 0; at[1] < size[1]; ++at[1])
      for (at[2] = 0; at[2] < size[2]; ++at[2])
        fn(at);
}

// Calls fn(x index, w index, y index) for every multiplication.
template <class F> static void forEachTap(const Conv &c, F &&fn) {
  const auto &along = c.window.along;
  const Spatial kernel = {along[0].kernel, along[1].kernel, along[2].kernel};
  const int64_t outputs = c.y.c / c.group, inputs = c.inputs(),
                taps = c.window.taps();
  const auto products = [&](int64_t n, int64_t o, int64_t i, const Spatial &tap,
                            int64_t iw) {
    forEachPlace(c.y.size, [&](const Spatial &out) {
      Spatial in;
      for (size_t d = 0; d < kSpatial; ++d) {
        in[d] = along[d].at(out[d], tap[d]);
        if (in[d] < 0 || in[d] >= c.x.size[d])
          return;
      }
      fn(c.x.index(n, o / outputs * inputs + i, in), iw, c.y.index(n, o, out));
    });
  };
  for (int64_t n = 0; n < c.y.n; ++n)
    for (int64_t o = 0; o < c.y.c; ++o)
      for (int64_t i = 0; i < inputs; ++i) {
        int64_t t = 0;
        forEachPlace(kernel, [&](const Spatial &tap) {
          products(n, o, i, tap,
                   c.filtersLast ? (o * taps + t) * inputs + i
                                 : (o * inputs + i) * taps + t);
          ++t;
        });
      }
}

// Sums in f64 whatever the type of `to`.
template <class F>
static void accumulate(const Elements &to, std::vector<double> &sums,
                       F &&fill) {
  std::fill(sums.begin(), sums.end(), 0.0);
  fill();
  for (size_t i = 0; i < sums.size(); ++i)
    to.set(i, sums[i]);
}

std::unique_ptr<Command> referenceConv(const CommandSpec &spec, const Conv &c,
                                       bool hasBias) {
  const Elements x(spec.inputs[0]), w(spec.inputs[1]), bias(spec.inputs.back()),
      y(spec.outputs[0]);
  std::vector<double> sums(elements(spec.outputs[0]));
  return makeReference([=]() mutable {
    accumulate(y, sums, [&] {
      forEachTap(c, [&](int64_t ix, int64_t iw, int64_t iy) {
        sums[iy] += x[ix] * w[iw];
      });
      const int64_t inner = c.y.channelsLast ? 1 : c.y.pixels();
      for (size_t i = 0; i < sums.size(); ++i)
        sums[i] += hasBias ? bias[i / inner % c.y.c] : 0;
    });
  });
}

std::unique_ptr<Command> referenceConvBackwardData(const CommandSpec &spec,
                                                   const Conv &c) {
  const Elements dy(spec.inputs[0]), w(spec.inputs[1]), dx(spec.outputs[0]);
  std::vector<double> sums(elements(spec.outputs[0]));
  return makeReference([=]() mutable {
    accumulate(dx, sums, [&] {
      forEachTap(c, [&](int64_t ix, int64_t iw, int64_t iy) {
        sums[ix] += dy[iy] * w[iw];
      });
    });
  });
}

std::unique_ptr<Command> referenceConvBackwardFilter(const CommandSpec &spec,
                                                     const Conv &c) {
  const Elements x(spec.inputs[0]), dy(spec.inputs[1]), dw(spec.outputs[0]);
  std::vector<double> sums(elements(spec.outputs[0]));
  return makeReference([=]() mutable {
    accumulate(dw, sums, [&] {
      forEachTap(c, [&](int64_t ix, int64_t iw, int64_t iy) {
        sums[iw] += x[ix] * dy[iy];
      });
    });
  });
}

} // namespace dlc
