// Pooling and its gradients on the emulated GPU against plain loops.
#include "test/codegen/Kernels.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dlc::test;

namespace {

using Ints = std::vector<int64_t>;

struct Case {
  Ints x, y; // n, c, h, w
  Ints kernel, strides, pads, dilations;
  bool nhwc;
  std::string type;
};

const Case kCases[] = {
    {{2, 3, 6, 8},
     {2, 3, 3, 4},
     {2, 2},
     {2, 2},
     {0, 0, 0, 0},
     {1, 1},
     false,
     "f32"},
    {{2, 5, 7, 9},
     {2, 5, 4, 5},
     {3, 3},
     {2, 2},
     {1, 1, 1, 1},
     {1, 1},
     true,
     "bf16"},
    {{1, 4, 7, 5},
     {1, 4, 5, 3},
     {3, 2},
     {1, 2},
     {0, 1, 0, 1},
     {1, 2},
     false,
     "f16"},
    {{1, 2, 5, 5},
     {1, 2, 3, 3},
     {2, 2},
     {2, 2},
     {0, 0, 1, 1},
     {1, 1},
     true,
     "f64"},
    {{3, 1, 4, 4},
     {3, 1, 1, 1},
     {4, 4},
     {1, 1},
     {0, 0, 0, 0},
     {1, 1},
     true,
     "f32"},
};

Ints shapeOf(const Case &c, const Ints &s) {
  return c.nhwc ? Ints{s[0], s[2], s[3], s[1]} : s;
}
int64_t at(const Case &c, const Ints &s, int64_t n, int64_t ch, int64_t h,
           int64_t w) {
  return c.nhwc ? ((n * s[2] + h) * s[3] + w) * s[1] + ch
                : ((n * s[1] + ch) * s[2] + h) * s[3] + w;
}

/// Calls f(index in y, index in x or -1 for padding, tap, inside of the padded
/// image) for all taps of all windows.
template <class F> void forEachTap(const Case &c, F f) {
  for (int64_t n = 0; n < c.y[0]; ++n)
    for (int64_t ch = 0; ch < c.y[1]; ++ch)
      for (int64_t oh = 0; oh < c.y[2]; ++oh)
        for (int64_t ow = 0; ow < c.y[3]; ++ow)
          for (int64_t t = 0; t < c.kernel[0] * c.kernel[1]; ++t) {
            int64_t h = oh * c.strides[0] - c.pads[0] +
                        t / c.kernel[1] * c.dilations[0];
            int64_t w = ow * c.strides[1] - c.pads[1] +
                        t % c.kernel[1] * c.dilations[1];
            bool real = h >= 0 && h < c.x[2] && w >= 0 && w < c.x[3];
            f(at(c, c.y, n, ch, oh, ow), real ? at(c, c.x, n, ch, h, w) : -1, t,
              h < c.x[2] + c.pads[2] && w < c.x[3] + c.pads[3]);
          }
}

std::string tensor(const Ints &shape, const std::string &type) {
  std::string s = "tensor<";
  for (int64_t d : shape)
    s += std::to_string(d) + "x";
  return s + type + ">";
}
std::string list(const Ints &values) {
  std::string s = "array<i64";
  for (size_t i = 0; i < values.size(); ++i)
    s += (i ? ", " : ": ") + std::to_string(values[i]);
  return s + ">";
}

/// A kernel of one pooling op.
Kernels kernelOf(const Case &c, const std::string &op,
                 const std::vector<std::string> &inputs,
                 const std::vector<std::string> &outputs,
                 const std::string &more = "") {
  std::string block, operands, types, results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string name = "%a" + std::to_string(i), comma = i ? ", " : "";
    block += comma + name + ": " + inputs[i];
    operands += comma + name;
    types += comma + inputs[i];
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    results += (i ? ", " : "") + outputs[i];
  bool two = outputs.size() > 1;
  return Kernels(module(
      "exec.kernel @k {\n^bb0(" + block + "):\n " + (two ? "%y, %i" : "%y") +
      " = dlc." + op + " " + operands + " {kernel = " + list(c.kernel) +
      ", strides = " + list(c.strides) + ", pads = " + list(c.pads) +
      ", dilations = " + list(c.dilations) + ", layout = \"" +
      (c.nhwc ? "nhwc" : "nchw") + "\"" + more + "} : (" + types + ") -> " +
      (two ? "(" + results + ")" : results) + "\n dlc.yield " +
      (two ? "%y, %i" : "%y") + " : " + results + "\n}\n"));
}

void expectNear(const Array &got, const Array &want, const std::string &what) {
  for (int64_t i = 0; i < got.size(); ++i) {
    double w = want.get(i), g = got.get(i);
    bool near = w == g || std::fabs(g - w) <= 1e-6 + 0.01 * std::fabs(w);
    ASSERT_TRUE(near || (std::isnan(w) && std::isnan(g)))
        << what << " " << i << ": " << g << ", expected " << w;
  }
}

} // namespace

TEST(Pool, MaxAndItsGradient) {
  for (const Case &c : kCases)
    for (double special : {0.0, double(NAN), -double(INFINITY)}) {
      Ints xShape = shapeOf(c, c.x), yShape = shapeOf(c, c.y);
      // Few different values, so that some are equal.
      Array x(c.type, xShape, [&](int64_t i) {
        return special != 0 && i % 5 < 3 ? special : double(i * 7 % 11) - 5;
      });
      Array y(c.type, yShape), index("i8", yShape), wantY(c.type, yShape);
      std::vector<int64_t> wantIndex(y.size(), -1);
      forEachTap(c, [&](int64_t o, int64_t i, int64_t tap, bool) {
        if (i < 0)
          return;
        double v = x.get(i), best = wantY.get(o);
        if (wantIndex[o] < 0 || v > best || std::isnan(v)) {
          wantY.set(o, v);
          wantIndex[o] = tap;
        }
      });
      std::string tx = tensor(xShape, c.type), ty = tensor(yShape, c.type),
                  ti = tensor(yShape, "i8");
      kernelOf(c, "max_pool", {tx}, {ty, ti}).run("k", {&x}, {&y, &index});
      expectNear(y, wantY, "max_pool");
      for (int64_t o = 0; o < y.size(); ++o)
        ASSERT_EQ(index.bytes[o], wantIndex[o]) << o;

      Array dy(c.type, yShape, uniform(-1, 1)), dx(c.type, xShape);
      std::vector<double> sums(dx.size());
      forEachTap(c, [&](int64_t o, int64_t i, int64_t tap, bool) {
        if (i >= 0 && wantIndex[o] == tap)
          sums[i] += dy.get(o);
      });
      Array want(c.type, xShape, [&](int64_t i) { return sums[i]; });
      kernelOf(c, "max_pool_backward", {ty, ti}, {tx})
          .run("k", {&dy, &index}, {&dx});
      expectNear(dx, want, "max_pool_backward");
    }
}

TEST(Pool, AverageAndItsGradient) {
  for (const Case &c : kCases)
    for (bool all : {false, true}) {
      Ints xShape = shapeOf(c, c.x), yShape = shapeOf(c, c.y);
      Array x(c.type, xShape, uniform(-1, 1)), y(c.type, yShape);
      std::vector<double> sums(y.size()), counts(y.size());
      forEachTap(c, [&](int64_t o, int64_t i, int64_t, bool padded) {
        sums[o] += i >= 0 ? x.get(i) : 0;
        counts[o] += all ? padded : i >= 0;
      });
      Array want(c.type, yShape,
                 [&](int64_t o) { return sums[o] / counts[o]; });
      std::string tx = tensor(xShape, c.type), ty = tensor(yShape, c.type),
                  more = all ? ", count_include_pad" : "";
      kernelOf(c, "avg_pool", {tx}, {ty}, more).run("k", {&x}, {&y});
      expectNear(y, want, "avg_pool");

      Array dy(c.type, yShape, uniform(-1, 1)), dx(c.type, xShape);
      std::vector<double> gradient(dx.size());
      forEachTap(c, [&](int64_t o, int64_t i, int64_t, bool) {
        if (i >= 0)
          gradient[i] += dy.get(o) / counts[o];
      });
      Array wantDx(c.type, xShape, [&](int64_t i) { return gradient[i]; });
      kernelOf(c, "avg_pool_backward", {ty}, {tx}, more).run("k", {&dy}, {&dx});
      expectNear(dx, wantDx, "avg_pool_backward");
    }
}
