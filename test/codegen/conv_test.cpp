// SPDX-License-Identifier: Apache-2.0
// Convolutions of few channels a group and their gradients, against plain loops
// in double.
#include "Kernels.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dlc::test;

namespace {

int64_t product(const Sizes &v) {
  int64_t n = 1;
  for (int64_t d : v)
    n *= d;
  return n;
}

/// A convolution of images channels last; `own` and `other` are the channels of
/// a group of y and of x.
struct Convolution {
  std::string type;
  int64_t images, group, own, other;
  Sizes size, kernel, strides, pads, dilations;
  bool hasBias = false, filtersLast = false;

  size_t dims() const { return size.size(); }
  int64_t taps() const { return product(kernel); }
  Sizes outputs() const {
    Sizes out;
    for (size_t d = 0; d < dims(); ++d)
      out.push_back((size[d] + pads[d] + pads[dims() + d] -
                     (kernel[d] - 1) * dilations[d] - 1) /
                        strides[d] +
                    1);
    return out;
  }
  static Sizes image(int64_t n, const Sizes &size, int64_t channels) {
    Sizes shape{n};
    shape.insert(shape.end(), size.begin(), size.end());
    shape.push_back(channels);
    return shape;
  }
  Sizes x() const { return image(images, size, group * other); }
  Sizes y() const { return image(images, outputs(), group * own); }
  Sizes w() const {
    Sizes shape{group * own};
    if (!filtersLast)
      shape.push_back(other);
    shape.insert(shape.end(), kernel.begin(), kernel.end());
    if (filtersLast)
      shape.push_back(other);
    return shape;
  }

  /// Calls f(element of x, of w, of y, channel of y) for every product.
  template <class F> void forEachProduct(F f) const {
    const Sizes out = outputs();
    for (int64_t n = 0; n < images; ++n)
      for (int64_t p = 0; p < product(out); ++p)
        for (int64_t t = 0; t < taps(); ++t) {
          int64_t from = n, rest = p, tap = t, inner = product(out),
                  window = taps();
          bool isInside = true;
          for (size_t d = 0; d < dims(); ++d) {
            inner /= out[d];
            window /= kernel[d];
            const int64_t at = rest / inner * strides[d] - pads[d] +
                               tap / window * dilations[d];
            rest %= inner;
            tap %= window;
            isInside = isInside && at >= 0 && at < size[d];
            from = from * size[d] + at;
          }
          if (!isInside)
            continue;
          for (int64_t o = 0; o < group * own; ++o)
            for (int64_t i = 0; i < other; ++i)
              f(from * group * other + o / own * other + i,
                filtersLast ? (o * taps() + t) * other + i
                            : (o * other + i) * taps() + t,
                (n * product(out) + p) * group * own + o, o);
        }
  }

  std::string kernels() const {
    const std::string window =
        "{dilations = " + list(dilations) + ", pads = " + list(pads) +
        ", strides = " + list(strides) + ", group = " + std::to_string(group) +
        " : i64, layout = \"nhwc\"" + (filtersLast ? ", filters_last" : "") +
        "}";
    const std::string tx = tensor(x(), type), tw = tensor(w(), type),
                      ty = tensor(y(), type), tb = tensor({group * own}, type);
    auto kernel = [&](const std::string &name, const std::string &op,
                      std::vector<std::string> from, const std::string &to) {
      std::string arguments, operands, types;
      for (size_t i = 0; i < from.size(); ++i) {
        const std::string value = "%" + std::string(1, char('a' + i)),
                          comma = i ? ", " : "";
        arguments += comma + value + ": " + from[i];
        operands += comma + value;
        types += comma + from[i];
      }
      return "exec.kernel @" + name + " {\n^bb0(" + arguments +
             "):\n  %r = " + op + " " + operands + " by = generated " + window +
             " : (" + types + ") -> " + to + "\n  dlc.yield %r : " + to +
             "\n}\n";
    };
    return kernel("forward", "dlc.conv",
                  hasBias ? std::vector{tx, tw, tb} : std::vector{tx, tw}, ty) +
           kernel("data", "dlc.conv_backward_data", {ty, tw}, tx) +
           kernel("filter", "dlc.conv_backward_filter", {tx, ty}, tw);
  }
};

const Convolution kConvolutions[] = {
    // One channel a group: no multiple of a vector, odd sizes, no padding.
    {"f32", 2, 19, 1, 1, {7, 5}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {"f32", 3, 40, 1, 1, {9, 11}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, true},
    {"f32", 1, 16, 1, 1, {8, 8}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
    // Windows that no place of the image sees whole, and pads of one side.
    {"f32", 2, 24, 1, 1, {3, 3}, {5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}},
    {"f32", 2, 8, 1, 1, {6, 9}, {3, 5}, {2, 3}, {0, 4, 2, 1}, {1, 1}},
    {"f32", 2, 8, 1, 1, {12, 13}, {3, 3}, {1, 2}, {2, 2, 2, 2}, {2, 2}},
    // Strides beyond the window leave places that nobody reads; pads that cut.
    {"f32", 2, 8, 1, 1, {11, 11}, {2, 2}, {3, 3}, {0, 0, 0, 0}, {1, 1}},
    {"f32", 2, 8, 1, 1, {9, 9}, {3, 3}, {1, 1}, {-1, 0, 0, -2}, {1, 1}},
    // Stride and dilation that share a factor: some remainders have no tap.
    {"f32", 2, 8, 1, 1, {13, 13}, {3, 3}, {2, 2}, {2, 2, 2, 2}, {2, 2}},
    // Tiles that do not divide the image, and channels of several items.
    {"f32", 2, 144, 1, 1, {31, 29}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {"f32", 1, 131, 1, 1, {37, 23}, {5, 5}, {2, 2}, {2, 2, 2, 2}, {1, 1}},
    {"f32", 1, 16, 1, 1, {5, 1400}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {"f32", 70, 64, 1, 1, {4, 4}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    // One and three dimensions.
    {"f32", 2, 24, 1, 1, {50}, {7}, {2}, {3, 3}, {1}},
    {"f32",
     2,
     12,
     1,
     1,
     {5, 6, 7},
     {3, 3, 3},
     {1, 2, 1},
     {1, 1, 1, 1, 1, 1},
     {1, 1, 1}},
    // A few channels a group, of one image or both.
    {"f32", 2, 9, 2, 1, {8, 7}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, true},
    {"f32", 2, 5, 4, 4, {8, 7}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {"f32", 2, 3, 2, 8, {6, 6}, {3, 3}, {2, 1}, {1, 1, 1, 1}, {1, 1}},
    {"f32",
     2,
     5,
     3,
     2,
     {8, 7},
     {3, 3},
     {1, 1},
     {1, 1, 1, 1},
     {1, 1},
     true,
     true},
    {"f32", 2, 1, 4, 3, {8, 7}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    // Of other types.
    {"bf16", 3, 40, 1, 1, {9, 11}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}, true},
    {"bf16", 2, 72, 1, 1, {14, 14}, {5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}},
    {"bf16", 2, 5, 4, 4, {8, 7}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {"f16", 2, 24, 1, 1, {7, 7}, {3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
    {"f64", 2, 24, 1, 1, {7, 7}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
};

/// Relative to the sum of the magnitudes of what is added up.
double tolerance(const std::string &type) {
  return type == "bf16"  ? 4e-3
         : type == "f16" ? 5e-4
         : type == "f32" ? 2e-6
                         : 1e-14;
}

void expectNear(const Array &found, const std::vector<double> &sums,
                const std::vector<double> &sizes, const char *what) {
  const double eps = tolerance(found.type);
  for (int64_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found.get(i), sums[i], eps * (sizes[i] + 1e-3))
        << what << " at " << i;
}

class ConvKernels : public testing::TestWithParam<Convolution> {};

TEST_P(ConvKernels, AgreeWithPlainLoops) {
  const Convolution &c = GetParam();
  Kernels kernels(module(c.kernels()));
  const Array x(c.type, c.x(), uniform(-1, 1, 1)),
      w(c.type, c.w(), uniform(-1, 1, 2)), dy(c.type, c.y(), uniform(-1, 1, 3)),
      bias(c.type, {c.group * c.own}, uniform(-1, 1, 4));
  Array y(c.type, c.y()), dx(c.type, c.x()), dw(c.type, c.w());
  kernels.run("forward",
              c.hasBias ? std::vector{&x, &w, &bias} : std::vector{&x, &w},
              {&y});
  kernels.run("data", {&dy, &w}, {&dx});
  kernels.run("filter", {&x, &dy}, {&dw});

  std::vector<double> sy(y.size()), sx(dx.size()), sw(dw.size()), ay(sy),
      ax(sx), aw(sw);
  c.forEachProduct([&](int64_t ix, int64_t iw, int64_t iy, int64_t) {
    auto add = [](double &sum, double &size, double v) {
      sum += v;
      size += std::abs(v);
    };
    add(sy[iy], ay[iy], x.get(ix) * w.get(iw));
    add(sx[ix], ax[ix], dy.get(iy) * w.get(iw));
    add(sw[iw], aw[iw], x.get(ix) * dy.get(iy));
  });
  if (c.hasBias)
    for (int64_t i = 0; i < y.size(); ++i) {
      sy[i] += bias.get(i % bias.size());
      ay[i] += std::abs(bias.get(i % bias.size()));
    }
  expectNear(y, sy, ay, "y");
  expectNear(dx, sx, ax, "dx");
  expectNear(dw, sw, aw, "dw");
}

INSTANTIATE_TEST_SUITE_P(Shapes, ConvKernels, testing::ValuesIn(kConvolutions));

} // namespace
