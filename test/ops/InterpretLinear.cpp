#include "test/ops/Interpreter.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dlc::ir;

namespace dlc::reference {
namespace {

Tensors matmul(MatmulOp op, const Tensors &x) {
  Tensor y(tensorType(op.getY()).getShape());
  const Tensor &a = x[0], &b = x[1];
  int64_t k = a.shape.end()[op.getTransA() ? -2 : -1];
  forEach(y.shape, [&](const Shape &at) {
    Shape ia = at, ib = at;
    double sum = op.getBias() ? x[2].data[at.back()] : 0;
    for (int64_t i = 0; i < k; ++i) {
      size_t r = at.size();
      ia[r - 1] = i, ia[r - 2] = at[r - 2];
      ib[r - 2] = i, ib[r - 1] = at[r - 1];
      if (op.getTransA())
        std::swap(ia[r - 1], ia[r - 2]);
      if (op.getTransB())
        std::swap(ib[r - 1], ib[r - 2]);
      sum += a.at(ia) * b.at(ib);
    }
    y.at(at) = sum;
  });
  return {y};
}

/// An activation's index in its layout.
struct Image {
  bool nhwc;
  explicit Image(StringRef layout) : nhwc(layout == "nhwc") {}
  Shape operator()(int64_t n, int64_t c, int64_t h, int64_t w) const {
    return nhwc ? Shape{n, h, w, c} : Shape{n, c, h, w};
  }
  Shape nchw(const Shape &i) const {
    return nhwc ? Shape{i[0], i[3], i[1], i[2]} : i;
  }
};

/// Calls f(kh, kw, h, w) for the taps of the window at output (oh, ow) that hit
/// the input of `height` x `width`.
template <class OpTy, class F>
void forEachTap(OpTy op, ir::Ints kernel, int64_t oh, int64_t ow,
                int64_t height, int64_t width, F f) {
  for (int64_t kh = 0; kh < kernel[0]; ++kh)
    for (int64_t kw = 0; kw < kernel[1]; ++kw) {
      int64_t h =
          oh * op.getStrides()[0] - op.getPads()[0] + kh * op.getDilations()[0];
      int64_t w =
          ow * op.getStrides()[1] - op.getPads()[1] + kw * op.getDilations()[1];
      if (h >= 0 && h < height && w >= 0 && w < width)
        f(kh, kw, h, w);
    }
}

/// Calls f(x's index, w's index, y's index) for every multiply-add of a
/// convolution.
template <class OpTy, class F>
void forEachProduct(OpTy op, ir::Ints x, ir::Ints w, ir::Ints y, F f) {
  Image image(op.getLayout());
  Shape in = image.nchw(Shape(x.begin(), x.end()));
  int64_t perGroup = w[0] / op.getGroup();
  forEach(y, [&](const Shape &at) {
    Shape o = image.nchw(at);
    for (int64_t c = 0; c < w[1]; ++c)
      forEachTap(op, w.drop_front(2), o[2], o[3], in[2], in[3],
                 [&](int64_t kh, int64_t kw, int64_t h, int64_t v) {
                   int64_t channel = o[1] / perGroup * w[1] + c;
                   f(image(o[0], channel, h, v), Shape{o[1], c, kh, kw}, at);
                 });
  });
}

Tensors conv(ConvOp op, const Tensors &t) {
  Tensor y(tensorType(op.getY()).getShape());
  forEachProduct(op, t[0].shape, t[1].shape, y.shape,
                 [&](const Shape &ix, const Shape &iw, const Shape &iy) {
                   y.at(iy) += t[0].at(ix) * t[1].at(iw);
                 });
  if (op.getBias())
    forEach(y.shape, [&](const Shape &i) {
      y.at(i) += t[2].data[Image(op.getLayout()).nchw(i)[1]];
    });
  return {y};
}
Tensors conv(ConvBackwardDataOp op, const Tensors &t) {
  Tensor dx(tensorType(op.getDx()).getShape());
  forEachProduct(op, dx.shape, t[1].shape, t[0].shape,
                 [&](const Shape &ix, const Shape &iw, const Shape &iy) {
                   dx.at(ix) += t[0].at(iy) * t[1].at(iw);
                 });
  return {dx};
}
Tensors conv(ConvBackwardFilterOp op, const Tensors &t) {
  Tensor dw(tensorType(op.getDw()).getShape());
  forEachProduct(op, t[0].shape, dw.shape, t[1].shape,
                 [&](const Shape &ix, const Shape &iw, const Shape &iy) {
                   dw.at(iw) += t[0].at(ix) * t[1].at(iy);
                 });
  return {dw};
}

/// Calls f(y's index, x's index, tap number) for every tap of every window.
template <class OpTy, class F>
void forEachWindow(OpTy op, ir::Ints x, ir::Ints y, F f) {
  Image image(op.getLayout());
  Shape in = image.nchw(Shape(x.begin(), x.end()));
  forEach(y, [&](const Shape &at) {
    Shape o = image.nchw(at);
    forEachTap(op, op.getKernel(), o[2], o[3], in[2], in[3],
               [&](int64_t kh, int64_t kw, int64_t h, int64_t w) {
                 f(at, image(o[0], o[1], h, w), kh * op.getKernel()[1] + kw);
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

/// What each window's sum is divided by: its taps inside the input or, with
/// count_include_pad, inside the padded one.
template <class OpTy> Tensor divisors(OpTy op, ir::Ints x, ir::Ints y) {
  Tensor n(y);
  Image image(op.getLayout());
  Shape in = image.nchw(Shape(x.begin(), x.end()));
  bool padded = op.getCountIncludePad();
  forEach(y, [&](const Shape &at) {
    Shape o = image.nchw(at);
    int64_t taps[2];
    for (int d = 0; d < 2; ++d) {
      int64_t low = padded ? -op.getPads()[d] : 0;
      int64_t high = in[2 + d] + (padded ? op.getPads()[2 + d] : 0);
      taps[d] = 0;
      for (int64_t k = 0; k < op.getKernel()[d]; ++k) {
        int64_t p = o[2 + d] * op.getStrides()[d] - op.getPads()[d] +
                    k * op.getDilations()[d];
        taps[d] += p >= low && p < high;
      }
    }
    n.at(at) = taps[0] * taps[1];
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
      .Case<ConvOp, ConvBackwardDataOp, ConvBackwardFilterOp>(
          [&](auto o) { return R(conv(o, x)); })
      .Case<MaxPoolOp>([&](auto o) { return R(maxPool(o, x)); })
      .Case<MaxPoolBackwardOp>([&](auto o) { return R(maxPoolBackward(o, x)); })
      .Case<AvgPoolOp>([&](auto o) { return R(avgPool(o, x)); })
      .Case<AvgPoolBackwardOp>([&](auto o) { return R(avgPoolBackward(o, x)); })
      .Default(R());
}

} // namespace dlc::reference
