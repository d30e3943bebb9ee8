#include "runtime/device/cpu/Activation.h"
#include "runtime/device/cpu/Conv.h"
#include "runtime/device/cpu/Reference.h"
#include "runtime/plan/Attributes.h"

namespace dlc {

Result<Conv> convOf(const CommandSpec &spec, const Operand &x, const Operand &w,
                    const Operand &y) {
  DLC_ASSIGN(const Image imageX, imageOf(spec, x, "x"));
  DLC_ASSIGN(const Image imageY, imageOf(spec, y, "y"));
  const Shape weight = shapeOf(w);
  if (weight.size() != 4)
    return incompatible(
        spec, fmt::format("w has rank {}, expected 4", weight.size()));
  DLC_ASSIGN(const Window window, windowOf(spec, weight[2], weight[3]));
  const Conv conv{imageX, imageY, window,
                  plan::intAttribute(spec.command, "group", 1)};
  if (conv.group < 1 || imageX.c % conv.group || imageY.c % conv.group)
    return corrupt(spec,
                   fmt::format("{} groups do not divide {} and {} channels",
                               conv.group, imageX.c, imageY.c));
  const Shape channels{weight[0], weight[1]},
      expected{imageY.c, imageX.c / conv.group};
  if (channels != expected)
    return corrupt(
        spec, fmt::format("w is for {} outputs of {} inputs, expected {} of {}",
                          weight[0], weight[1], expected[0], expected[1]));
  const auto size = [](int64_t in, int64_t pads, int64_t k, int64_t dilation,
                       int64_t stride) {
    const int64_t room = in + pads - (dilation * (k - 1) + 1);
    return room < 0 ? 0 : room / stride + 1;
  };
  const int64_t h = size(imageX.h, window.top + window.bottom, window.kh,
                         window.dh, window.sh);
  const int64_t width = size(imageX.w, window.left + window.right, window.kw,
                             window.dw, window.sw);
  if (imageY.n != imageX.n || imageY.h != h || imageY.w != width)
    return corrupt(
        spec, fmt::format("y holds {} images of {}x{}, expected {} of {}x{}",
                          imageY.n, imageY.h, imageY.w, imageX.n, h, width));
  return conv;
}

// Calls fn(x index, w index, y index) for every product that the convolution
// sums.
template <class F> static void forEachTap(const Conv &c, F &&fn) {
  const int64_t outputs = c.y.c / c.group, inputs = c.x.c / c.group;
  for (int64_t n = 0; n < c.y.n; ++n)
    for (int64_t o = 0; o < c.y.c; ++o)
      for (int64_t i = 0; i < inputs; ++i)
        for (int64_t kh = 0; kh < c.window.kh; ++kh)
          for (int64_t kw = 0; kw < c.window.kw; ++kw)
            for (int64_t oh = 0; oh < c.y.h; ++oh)
              for (int64_t ow = 0; ow < c.y.w; ++ow) {
                const int64_t ih = c.window.row(oh, kh),
                              iw = c.window.column(ow, kw);
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
  return makeReference([=, activation = activationOf(spec)]() mutable {
    accumulate(y, sums, [&] {
      forEachTap(c, [&](int64_t ix, int64_t iw, int64_t iy) {
        sums[iy] += x[ix] * w[iw];
      });
      const int64_t inner = c.y.nhwc ? 1 : c.y.h * c.y.w;
      for (size_t i = 0; i < sums.size(); ++i)
        sums[i] = activate(activation,
                           sums[i] + (hasBias ? bias[i / inner % c.y.c] : 0));
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
