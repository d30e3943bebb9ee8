// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/ops/Windows.h"
#include "compiler/reference/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dlc::ir;

namespace dlc::reference {
namespace {

Tensors matmul(MatmulOp op, const Tensors &x) {
  Tensor y(tensorType(op.getY()).getShape());
  const Tensor &a = x[0], &b = x[1];
  const size_t rank = y.shape.size();
  const Shape sa = broadcastStrides(a.shape, y.shape),
              sb = broadcastStrides(b.shape, y.shape);
  const size_t row = rank - 2, column = rank - 1;
  const int64_t depth = a.shape.end()[op.getTransA() ? -2 : -1],
                stepA = sa[op.getTransA() ? row : column],
                stepB = sb[op.getTransB() ? column : row],
                rowA = sa[op.getTransA() ? column : row],
                columnB = sb[op.getTransB() ? row : column];
  forEach(y.shape, [&](const Shape &at) {
    int64_t ia = at[row] * rowA, ib = at[column] * columnB;
    for (size_t d = 0; d < row; ++d) {
      ia += at[d] * sa[d];
      ib += at[d] * sb[d];
    }
    double sum = op.getBias() ? x[2].data[at.back()] : 0;
    for (int64_t i = 0; i < depth; ++i)
      sum += a.data[ia + i * stepA] * b.data[ib + i * stepB];
    y.at(at) = sum;
  });
  return {y};
}

/// Calls f(row, its group) for each row.
template <class F> void forEachRow(const Tensor &groups, int64_t count, F f) {
  for (size_t t = 0; t < groups.data.size(); ++t) {
    const auto group = int64_t(groups.data[t]);
    f(int64_t(t), group < 0 ? group + count : group);
  }
}
/// Index of the element (k, n) of a group's matrix.
int64_t elementOf(const Shape &w, bool transposed, int64_t group, int64_t k,
                  int64_t n) {
  return (group * w[1] + (transposed ? n : k)) * w[2] + (transposed ? k : n);
}
Tensors groupedMatmul(GroupedMatmulOp op, const Tensors &in) {
  const Tensor &x = in[0], &w = in[1];
  Tensor y(tensorType(op.getY()).getShape());
  forEachRow(in[2], w.shape[0], [&](int64_t t, int64_t group) {
    for (int64_t n = 0; n < y.shape[1]; ++n)
      for (int64_t k = 0; k < x.shape[1]; ++k)
        y.data[t * y.shape[1] + n] +=
            x.data[t * x.shape[1] + k] *
            w.data[elementOf(w.shape, op.getTransW(), group, k, n)];
  });
  return {y};
}
Tensors groupedMatmulBackwardWeight(GroupedMatmulBackwardWeightOp op,
                                    const Tensors &in) {
  const Tensor &x = in[0], &dy = in[1];
  Tensor dw(tensorType(op.getDw()).getShape());
  forEachRow(in[2], dw.shape[0], [&](int64_t t, int64_t group) {
    for (int64_t n = 0; n < dy.shape[1]; ++n)
      for (int64_t k = 0; k < x.shape[1]; ++k)
        dw.data[elementOf(dw.shape, op.getTransW(), group, k, n)] +=
            x.data[t * x.shape[1] + k] * dy.data[t * dy.shape[1] + n];
  });
  return {dw};
}

/// Dimensions of images in their layout: a batch, a channel, and one to three
/// spatial dimensions.
struct Image {
  ImageDims dims;
  Shape index(int64_t n, int64_t c, const Shape &spatial) const {
    Shape i{n};
    i.insert(i.end(), spatial.begin(), spatial.end());
    i.insert(i.begin() + dims.channel(), c);
    return i;
  }
  int64_t channel(ir::Ints i) const { return i[dims.channel()]; }
  Shape spatial(ir::Ints i) const {
    return i.slice(dims.spatial(), dims.count()).vec();
  }
};
template <class OpTy> Image imageOf(OpTy op, ir::Ints shape) {
  return {ImageDims(shape.size(), op.getLayout())};
}

/// One per dimension.
std::vector<Sliding> slidings(const WindowSizes &sizes) {
  std::vector<Sliding> window;
  for (size_t d = 0; d < sizes.kernel.size(); ++d)
    window.push_back(sizes.along(d));
  return window;
}

/// Calls f(tap, place) for the taps of the window at `output` that are inside
/// the input.
template <class F>
void forEachTap(const std::vector<Sliding> &window, const Shape &output,
                const Shape &in, F f) {
  Shape kernel, place(window.size());
  for (const Sliding &w : window)
    kernel.push_back(w.kernel);
  forEach(kernel, [&](const Shape &tap) {
    bool hits = true;
    for (size_t d = 0; d < window.size(); ++d) {
      place[d] = window[d].at(output[d], tap[d]);
      hits &= place[d] >= 0 && place[d] < in[d];
    }
    if (hits)
      f(tap, place);
  });
}

/// Calls f(x's element, w's element, y's element), as indices, for every
/// multiplication of a convolution.
template <class OpTy, class F>
void forEachProduct(OpTy op, ir::Ints x, ir::Ints w, ir::Ints y, F f) {
  const Image image = imageOf(op, x);
  const auto window = slidings(windowOf(op, w));
  const bool last = op.getFiltersLast();
  const size_t inputs = last ? w.size() - 1 : 1, taps = last ? 1 : 2;
  const Shape in = image.spatial(x), sx = stridesOf(x.vec()),
              sw = stridesOf(w.vec()), spatial = image.spatial(sx);
  const int64_t perGroup = w[0] / op.getGroup(), channel = image.channel(sx);
  int64_t iy = 0;
  forEach(y, [&](const Shape &at) {
    const int64_t o = image.channel(at);
    forEachTap(window, image.spatial(at), in,
               [&](const Shape &tap, const Shape &place) {
                 int64_t ix =
                             at[0] * sx[0] + o / perGroup * w[inputs] * channel,
                         iw = o * sw[0];
                 for (size_t d = 0; d < tap.size(); ++d) {
                   ix += place[d] * spatial[d];
                   iw += tap[d] * sw[taps + d];
                 }
                 for (int64_t c = 0; c < w[inputs]; ++c)
                   f(ix + c * channel, iw + c * sw[inputs], iy);
               });
    ++iy;
  });
}

Tensors conv(ConvOp op, const Tensors &t) {
  Tensor y(tensorType(op.getY()).getShape());
  forEachProduct(op, t[0].shape, t[1].shape, y.shape,
                 [&](int64_t ix, int64_t iw, int64_t iy) {
                   y.data[iy] += t[0].data[ix] * t[1].data[iw];
                 });
  if (op.getBias())
    forEach(y.shape, [&](const Shape &i) {
      y.at(i) += t[2].data[imageOf(op, y.shape).channel(i)];
    });
  return {y};
}
Tensors conv(ConvBackwardDataOp op, const Tensors &t) {
  Tensor dx(tensorType(op.getDx()).getShape());
  forEachProduct(op, dx.shape, t[1].shape, t[0].shape,
                 [&](int64_t ix, int64_t iw, int64_t iy) {
                   dx.data[ix] += t[0].data[iy] * t[1].data[iw];
                 });
  return {dx};
}
Tensors conv(ConvBackwardFilterOp op, const Tensors &t) {
  Tensor dw(tensorType(op.getDw()).getShape());
  forEachProduct(op, t[0].shape, dw.shape, t[1].shape,
                 [&](int64_t ix, int64_t iw, int64_t iy) {
                   dw.data[iw] += t[0].data[ix] * t[1].data[iy];
                 });
  return {dw};
}

/// Calls f(y's index, x's index, tap) for all taps of all windows.
template <class OpTy, class F>
void forEachWindow(OpTy op, ir::Ints x, ir::Ints y, F f) {
  const Image image = imageOf(op, x);
  const auto window = slidings(windowOf(op));
  const Shape in = image.spatial(x);
  forEach(y, [&](const Shape &at) {
    forEachTap(window, image.spatial(at), in,
               [&](const Shape &tap, const Shape &place) {
                 int64_t number = 0;
                 for (size_t d = 0; d < tap.size(); ++d)
                   number = number * window[d].kernel + tap[d];
                 f(at, image.index(at[0], image.channel(at), place), number);
               });
  });
}

Tensors maxPool(MaxPoolOp op, const Tensors &t) {
  Tensor y(tensorType(op.getY()).getShape(), -INFINITY), index(y.shape);
  forEachWindow(op, t[0].shape, y.shape,
                [&](const Shape &iy, const Shape &ix, int64_t tap) {
                  double v = t[0].at(ix);
                  if (v > y.at(iy) || v != v)
                    y.at(iy) = v, index.at(iy) = tap;
                });
  return {y, index};
}
Tensors maxPoolBackward(MaxPoolBackwardOp op, const Tensors &t) {
  Tensor dx(tensorType(op.getDx()).getShape());
  forEachWindow(op, dx.shape, t[0].shape,
                [&](const Shape &iy, const Shape &ix, int64_t tap) {
                  if (t[1].at(iy) == tap)
                    dx.at(ix) += t[0].at(iy);
                });
  return {dx};
}

/// The divisor of each window: its number of taps inside the input or, with
/// count_include_pad, inside the padded input.
template <class OpTy> Tensor divisors(OpTy op, ir::Ints x, ir::Ints y) {
  Tensor n(y, 1);
  const Image image = imageOf(op, x);
  const auto window = slidings(windowOf(op));
  const Shape in = image.spatial(x);
  forEach(y, [&](const Shape &at) {
    const Shape o = image.spatial(at);
    for (size_t d = 0; d < window.size(); ++d)
      n.at(at) *= window[d].counted(o[d], in[d], op.getCountIncludePad());
  });
  return n;
}
Tensors avgPool(AvgPoolOp op, const Tensors &t) {
  Tensor y(tensorType(op.getY()).getShape());
  Tensor n = divisors(op, t[0].shape, y.shape);
  forEachWindow(op, t[0].shape, y.shape,
                [&](const Shape &iy, const Shape &ix, int64_t) {
                  y.at(iy) += t[0].at(ix) / n.at(iy);
                });
  return {y};
}
Tensors avgPoolBackward(AvgPoolBackwardOp op, const Tensors &t) {
  Tensor dx(tensorType(op.getDx()).getShape());
  Tensor n = divisors(op, dx.shape, t[0].shape);
  forEachWindow(op, dx.shape, t[0].shape,
                [&](const Shape &iy, const Shape &ix, int64_t) {
                  dx.at(ix) += t[0].at(iy) / n.at(iy);
                });
  return {dx};
}

} // namespace

std::optional<Tensors> runLinear(Operation *op, const Tensors &x) {
  using R = std::optional<Tensors>;
  return llvm::TypeSwitch<Operation *, R>(op)
      .Case<MatmulOp>([&](auto o) { return R(matmul(o, x)); })
      .Case<GroupedMatmulOp>([&](auto o) { return R(groupedMatmul(o, x)); })
      .Case<GroupedMatmulBackwardWeightOp>(
          [&](auto o) { return R(groupedMatmulBackwardWeight(o, x)); })
      .Case<ConvOp, ConvBackwardDataOp, ConvBackwardFilterOp>(
          [&](auto o) { return R(conv(o, x)); })
      .Case<MaxPoolOp>([&](auto o) { return R(maxPool(o, x)); })
      .Case<MaxPoolBackwardOp>([&](auto o) { return R(maxPoolBackward(o, x)); })
      .Case<AvgPoolOp>([&](auto o) { return R(avgPool(o, x)); })
      .Case<AvgPoolBackwardOp>([&](auto o) { return R(avgPoolBackward(o, x)); })
      .Default(R());
}

} // namespace dlc::reference
