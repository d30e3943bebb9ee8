#include "runtime/device/cpu/ReferenceConv.h"
#include "runtime/device/cpu/Reference.h"

namespace dlc {

// Calls fn(x index, w index, y index) for every product that the convolution
// sums.
template <class F> static void forEachTap(const Conv &c, F &&fn) {
  const Sliding rows = c.window.rows(), columns = c.window.columns();
  const int64_t outputs = c.y.c / c.group, inputs = c.x.c / c.group;
  for (int64_t n = 0; n < c.y.n; ++n)
    for (int64_t o = 0; o < c.y.c; ++o)
      for (int64_t i = 0; i < inputs; ++i)
        for (int64_t kh = 0; kh < c.window.kh; ++kh)
          for (int64_t kw = 0; kw < c.window.kw; ++kw)
            for (int64_t oh = 0; oh < c.y.h; ++oh)
              for (int64_t ow = 0; ow < c.y.w; ++ow) {
                const int64_t ih = rows.at(oh, kh), iw = columns.at(ow, kw);
                if (ih >= 0 && ih < c.x.h && iw >= 0 && iw < c.x.w)
                  fn(c.x.index(n, o / outputs * inputs + i, ih, iw),
                     ((o * inputs + i) * c.window.kh + kh) * c.window.kw + kw,
                     c.y.index(n, o, oh, ow));
              }
}

// Sums in double whatever the precision of `to`.
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
      const int64_t inner = c.y.nhwc ? 1 : c.y.h * c.y.w;
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
