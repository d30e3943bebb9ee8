// SPDX-License-Identifier: Apache-2.0
// Rows and columns: softmax, layer norm, cross entropy, sums over all kinds of
// axes.
#include "Kernels.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace dlc::test;

namespace {

/// A reduction of x over `axes`, as a kernel and in plain loops.
struct Reduction {
  std::string op, type;
  std::vector<int64_t> shape, axes;
  bool keepdims = false;

  std::vector<int64_t> result() const {
    std::vector<int64_t> r;
    for (size_t i = 0; i < shape.size(); ++i)
      if (!std::count(axes.begin(), axes.end(), (int64_t)i))
        r.push_back(shape[i]);
      else if (keepdims)
        r.push_back(1);
    return r;
  }
  std::string kernel(const std::string &name) const {
    std::string from = tensor(shape, type),
                to = tensor(result(), op == "argmax" ? "i64" : type);
    return "exec.kernel @" + name + " {\n^bb0(%x: " + from + "):\n  %y = dlc." +
           op + " %x {axes = " + list(axes) + (keepdims ? ", keepdims" : "") +
           "} : (" + from + ") -> " + to + "\n  dlc.yield %y : " + to + "\n}\n";
  }
  /// The element of the result that element i of x belongs to.
  int64_t target(int64_t i) const {
    int64_t position = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0; i /= shape[d])
      if (!std::count(axes.begin(), axes.end(), (int64_t)d)) {
        position += i % shape[d] * stride;
        stride *= shape[d];
      }
    return position;
  }
};

const Reduction kReductions[] = {
    {"reduce_sum", "f32", {37, 53}, {1}},
    {"reduce_sum", "f32", {37, 53}, {0}},
    {"reduce_sum", "f32", {37, 53}, {0, 1}},
    {"reduce_sum", "f32", {5, 1031}, {1}, true},
    {"reduce_sum", "f32", {333, 1000}, {0}, true},
    {"reduce_sum", "f32", {4, 6, 7, 9}, {0, 2, 3}},
    {"reduce_sum", "f32", {4, 64, 7, 9}, {1}},
    {"reduce_sum", "f32", {4, 6, 7, 19}, {0, 2}},
    {"reduce_sum", "f32", {4, 1, 7, 1}, {2}},
    {"reduce_sum", "f32", {3, 1, 5}, {1}},
    {"reduce_sum", "f32", {3, 0}, {1}},
    {"reduce_sum", "bf16", {1000, 33}, {0}},
    {"reduce_sum", "bf16", {33, 1000}, {1}},
    {"reduce_sum", "f64", {129, 65}, {0}},
    {"reduce_sum", "f64", {129, 65}, {1}},
    {"reduce_sum", "i64", {12, 13}, {1}},
    {"reduce_mean", "f32", {8, 3, 10}, {0, 2}},
    {"reduce_mean", "f32", {100, 256}, {1}},
    {"reduce_max", "f32", {31, 77}, {1}},
    {"reduce_max", "f32", {31, 77}, {0}},
    {"reduce_min", "bf16", {31, 77}, {0}},
    {"reduce_min", "i32", {31, 77}, {1}},
    {"reduce_max", "i1", {31, 7}, {1}},
    {"reduce_max", "f32", {5000, 12}, {0}},
    {"reduce_max", "f32", {70, 3, 100}, {0, 2}},
    {"reduce_sum", "i64", {40, 3, 90}, {0, 2}},
    {"argmax", "f32", {5000, 12}, {0}},
    {"argmax", "f32", {64, 10}, {1}},
    {"argmax", "f32", {64, 10}, {0}},
    {"argmax", "f32", {3, 1000, 2}, {1}},
};

std::vector<double> expected(const Reduction &c, const Array &x) {
  int64_t n = Array("f32", c.result()).size();
  std::vector<double> y(n, 0), best(n, 0);
  std::vector<int64_t> count(n, 0);
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t t = c.target(i);
    double v = x.get(i);
    bool first = count[t]++ == 0;
    if (c.op == "reduce_sum" || c.op == "reduce_mean")
      y[t] += v;
    else if (c.op == "reduce_max")
      y[t] = first ? v : std::max(y[t], v);
    else if (c.op == "reduce_min")
      y[t] = first ? v : std::min(y[t], v);
    else if (first || v > best[t]) {
      best[t] = v;
      y[t] = count[t] - 1;
    }
  }
  if (c.op == "reduce_mean")
    for (int64_t t = 0; t < n; ++t)
      y[t] /= count[t];
  return y;
}

} // namespace

TEST(Reduce, AllKindsOfAxes) {
  std::string text;
  for (size_t i = 0; i < std::size(kReductions); ++i)
    text += kReductions[i].kernel("k" + std::to_string(i));
  Kernels kernels(module(text));
  for (size_t i = 0; i < std::size(kReductions); ++i) {
    const Reduction &c = kReductions[i];
    auto values = uniform(-4, 4);
    Array x(c.type, c.shape,
            [&](int64_t j) { return c.type == "i1" ? j % 9 == 3 : values(j); });
    Array y(c.op == "argmax" ? "i64" : c.type, c.result());
    kernels.run("k" + std::to_string(i), {&x}, {&y});
    auto want = expected(c, x);
    double tolerance = c.op == "argmax" || c.op.size() == 10
                           ? (c.op == "reduce_sum" ? 3e-4 : 0)
                           : 1e-5;
    if (c.op == "reduce_sum" && c.type == "f64")
      tolerance = 1e-12;
    for (int64_t j = 0; j < y.size(); ++j) {
      double w = c.type == "bf16" ? roundToBf16(want[j]) : want[j];
      ASSERT_NEAR(y.get(j), w,
                  tolerance + (c.type == "bf16" ? std::fabs(w) / 128 : 0))
          << "case " << i << " " << c.op << " element " << j;
    }
  }
}

TEST(Reduce, LongSumsKeepTheirDigits) {
  const Reduction sums[] = {{"reduce_sum", "f32", {1 << 18, 8}, {0}},
                            {"reduce_sum", "f32", {1 << 12, 64, 3, 2}, {0, 2}},
                            {"reduce_mean", "f32", {64, 4, 12544}, {0, 2}},
                            {"reduce_sum", "f32", {2, 3, 1 << 18}, {2}}};
  std::string text;
  for (size_t i = 0; i < std::size(sums); ++i)
    text += sums[i].kernel("k" + std::to_string(i));
  Kernels kernels(module(text));
  for (size_t i = 0; i < std::size(sums); ++i) {
    Array x("f32", sums[i].shape, uniform(0.5, 1.5)),
        y("f32", sums[i].result());
    kernels.run("k" + std::to_string(i), {&x}, {&y});
    const auto want = expected(sums[i], x);
    for (int64_t j = 0; j < y.size(); ++j)
      ASSERT_NEAR(y.get(j) / want[size_t(j)], 1, 1.5e-6) << "case " << i;
  }
}

TEST(Reduce, NanWinsInMaximumAndArgMax) {
  Kernels kernels(
      module(Reduction{"reduce_max", "f32", {4, 50}, {1}}.kernel("max") +
             Reduction{"argmax", "f32", {4, 50}, {1}}.kernel("arg")));
  Array x("f32", {4, 50}, uniform(-1, 1)), y("f32", {4}), z("i64", {4});
  x.set(50 + 17, NAN);
  x.set(50 + 30, NAN);
  for (int64_t i = 100; i < 150; ++i)
    x.set(i, -INFINITY);
  kernels.run("max", {&x}, {&y});
  kernels.run("arg", {&x}, {&z});
  EXPECT_TRUE(std::isnan(y.get(1)));
  EXPECT_EQ(z.get(1), 17);
  EXPECT_EQ(y.get(2), -INFINITY);
  EXPECT_EQ(z.get(2), 0);
}

namespace {
std::string softmax(const std::string &name, int64_t rows, int64_t columns) {
  std::string x = tensor({rows, columns}), r = tensor({rows, 1});
  return "exec.kernel @" + name + " {\n^bb0(%x: " + x + "):\n" +
         "%m = dlc.reduce_max %x {axes = array<i64: 1>, keepdims} : (" + x +
         ") -> " + r + "\n" + "%d = dlc.sub %x, %m : (" + x + ", " + r +
         ") -> " + x + "\n" + "%e = dlc.exp %d : (" + x + ") -> " + x + "\n" +
         "%s = dlc.reduce_sum %e {axes = array<i64: 1>, keepdims} : (" + x +
         ") -> " + r + "\n" + "%y = dlc.div %e, %s : (" + x + ", " + r +
         ") -> " + x + "\n" + "dlc.yield %y : " + x + "\n}\n";
}
} // namespace

TEST(Reduce, SoftmaxOfAnyWidthAlsoInPlace) {
  const int64_t widths[] = {1, 3, 10, 64, 1000, 1024, 5000};
  std::string text;
  for (int64_t w : widths)
    text += softmax("s" + std::to_string(w), 17, w);
  Kernels kernels(module(text));
  for (int64_t w : widths) {
    std::string name = "s" + std::to_string(w);
    Array x("f32", {17, w}, uniform(-30, 30)), y("f32", {17, w});
    if (w > 3)
      x.set(2, -INFINITY);
    kernels.run(name, {&x}, {&y});
    for (int64_t r = 0; r < 17; ++r) {
      double most = -INFINITY, sum = 0;
      for (int64_t c = 0; c < w; ++c)
        most = std::max(most, x.get(r * w + c));
      for (int64_t c = 0; c < w; ++c)
        sum += std::exp(x.get(r * w + c) - most);
      for (int64_t c = 0; c < w; ++c) {
        double want = std::exp(x.get(r * w + c) - most) / sum;
        ASSERT_NEAR(y.get(r * w + c), want, want * 3e-6 + 1e-30)
            << name << " " << r << "," << c;
      }
    }
    Array inPlace = x;
    kernels.runRaw(name, {inPlace.bytes.data(), inPlace.bytes.data()});
    EXPECT_EQ(inPlace.bytes, y.bytes) << name;
  }
}

TEST(Reduce, LayerNormForwardAndBackward) {
  Kernels kernels(module(R"(
    exec.kernel @forward {
    ^bb0(%x: tensor<6x5x96xf32>, %g: tensor<96xf32>, %b: tensor<96xf32>):
      %m = dlc.reduce_mean %x {axes = array<i64: 2>, keepdims} : (tensor<6x5x96xf32>) -> tensor<6x5x1xf32>
      %d = dlc.sub %x, %m : (tensor<6x5x96xf32>, tensor<6x5x1xf32>) -> tensor<6x5x96xf32>
      %q = dlc.mul %d, %d : (tensor<6x5x96xf32>, tensor<6x5x96xf32>) -> tensor<6x5x96xf32>
      %v = dlc.reduce_mean %q {axes = array<i64: 2>, keepdims} : (tensor<6x5x96xf32>) -> tensor<6x5x1xf32>
      %e = dlc.constant dense<1.0e-5> : tensor<f32>
      %w = dlc.add %v, %e : (tensor<6x5x1xf32>, tensor<f32>) -> tensor<6x5x1xf32>
      %r = dlc.rsqrt %w : (tensor<6x5x1xf32>) -> tensor<6x5x1xf32>
      %n = dlc.mul %d, %r : (tensor<6x5x96xf32>, tensor<6x5x1xf32>) -> tensor<6x5x96xf32>
      %s = dlc.mul %n, %g : (tensor<6x5x96xf32>, tensor<96xf32>) -> tensor<6x5x96xf32>
      %y = dlc.add %s, %b : (tensor<6x5x96xf32>, tensor<96xf32>) -> tensor<6x5x96xf32>
      dlc.yield %y, %m, %r : tensor<6x5x96xf32>, tensor<6x5x1xf32>, tensor<6x5x1xf32>
    }
    exec.kernel @backward {
    ^bb0(%dy: tensor<6x5x96xf32>, %x: tensor<6x5x96xf32>, %g: tensor<96xf32>, %m: tensor<6x5x1xf32>, %r: tensor<6x5x1xf32>):
      %d = dlc.sub %x, %m : (tensor<6x5x96xf32>, tensor<6x5x1xf32>) -> tensor<6x5x96xf32>
      %n = dlc.mul %d, %r : (tensor<6x5x96xf32>, tensor<6x5x1xf32>) -> tensor<6x5x96xf32>
      %a = dlc.mul %dy, %g : (tensor<6x5x96xf32>, tensor<96xf32>) -> tensor<6x5x96xf32>
      %an = dlc.mul %a, %n : (tensor<6x5x96xf32>, tensor<6x5x96xf32>) -> tensor<6x5x96xf32>
      %ma = dlc.reduce_mean %a {axes = array<i64: 2>, keepdims} : (tensor<6x5x96xf32>) -> tensor<6x5x1xf32>
      %mn = dlc.reduce_mean %an {axes = array<i64: 2>, keepdims} : (tensor<6x5x96xf32>) -> tensor<6x5x1xf32>
      %p = dlc.mul %n, %mn : (tensor<6x5x96xf32>, tensor<6x5x1xf32>) -> tensor<6x5x96xf32>
      %u = dlc.sub %a, %ma : (tensor<6x5x96xf32>, tensor<6x5x1xf32>) -> tensor<6x5x96xf32>
      %z = dlc.sub %u, %p : (tensor<6x5x96xf32>, tensor<6x5x96xf32>) -> tensor<6x5x96xf32>
      %dx = dlc.mul %z, %r : (tensor<6x5x96xf32>, tensor<6x5x1xf32>) -> tensor<6x5x96xf32>
      dlc.yield %dx : tensor<6x5x96xf32>
    }
    exec.kernel @weights {
    ^bb0(%dy: tensor<6x5x96xf32>, %x: tensor<6x5x96xf32>, %m: tensor<6x5x1xf32>, %r: tensor<6x5x1xf32>):
      %d = dlc.sub %x, %m : (tensor<6x5x96xf32>, tensor<6x5x1xf32>) -> tensor<6x5x96xf32>
      %n = dlc.mul %d, %r : (tensor<6x5x96xf32>, tensor<6x5x1xf32>) -> tensor<6x5x96xf32>
      %p = dlc.mul %dy, %n : (tensor<6x5x96xf32>, tensor<6x5x96xf32>) -> tensor<6x5x96xf32>
      %dg = dlc.reduce_sum %p {axes = array<i64: 0, 1>} : (tensor<6x5x96xf32>) -> tensor<96xf32>
      %db = dlc.reduce_sum %dy {axes = array<i64: 0, 1>} : (tensor<6x5x96xf32>) -> tensor<96xf32>
      dlc.yield %dg, %db : tensor<96xf32>, tensor<96xf32>
    })"));
  Array x("f32", {6, 5, 96}, uniform(-3, 5)),
      g("f32", {96}, uniform(0.5, 2, 2)), b("f32", {96}, uniform(-1, 1, 3)),
      dy("f32", {6, 5, 96}, uniform(-1, 1, 4));
  Array y("f32", {6, 5, 96}), m("f32", {6, 5, 1}), r("f32", {6, 5, 1}),
      dx("f32", {6, 5, 96}), dg("f32", {96}), db("f32", {96});
  kernels.run("forward", {&x, &g, &b}, {&y, &m, &r});
  kernels.run("backward", {&dy, &x, &g, &m, &r}, {&dx});
  kernels.run("weights", {&dy, &x, &m, &r}, {&dg, &db});
  std::vector<double> wantG(96, 0), wantB(96, 0);
  for (int64_t row = 0; row < 30; ++row) {
    double mean = 0, var = 0, ma = 0, mn = 0;
    for (int64_t c = 0; c < 96; ++c)
      mean += x.get(row * 96 + c) / 96;
    for (int64_t c = 0; c < 96; ++c)
      var += std::pow(x.get(row * 96 + c) - mean, 2) / 96;
    double scale = 1 / std::sqrt(var + 1e-5);
    auto normal = [&](int64_t c) {
      return (x.get(row * 96 + c) - mean) * scale;
    };
    ASSERT_NEAR(m.get(row), mean, 1e-6);
    ASSERT_NEAR(r.get(row), scale, 1e-6);
    for (int64_t c = 0; c < 96; ++c) {
      double a = dy.get(row * 96 + c) * g.get(c);
      ma += a / 96;
      mn += a * normal(c) / 96;
      wantG[c] += dy.get(row * 96 + c) * normal(c);
      wantB[c] += dy.get(row * 96 + c);
      ASSERT_NEAR(y.get(row * 96 + c), normal(c) * g.get(c) + b.get(c), 3e-6);
    }
    for (int64_t c = 0; c < 96; ++c) {
      double a = dy.get(row * 96 + c) * g.get(c);
      ASSERT_NEAR(dx.get(row * 96 + c), (a - ma - normal(c) * mn) * scale,
                  3e-6);
    }
  }
  for (int64_t c = 0; c < 96; ++c) {
    ASSERT_NEAR(dg.get(c), wantG[c], 1e-5);
    ASSERT_NEAR(db.get(c), wantB[c], 1e-5);
  }
}

TEST(Reduce, CrossEntropyForwardAndBackward) {
  Kernels kernels(module(R"(
    exec.kernel @loss {
    ^bb0(%x: tensor<33x10xf32>, %t: tensor<33xi64>):
      %m = dlc.reduce_max %x {axes = array<i64: 1>, keepdims} : (tensor<33x10xf32>) -> tensor<33x1xf32>
      %d = dlc.sub %x, %m : (tensor<33x10xf32>, tensor<33x1xf32>) -> tensor<33x10xf32>
      %e = dlc.exp %d : (tensor<33x10xf32>) -> tensor<33x10xf32>
      %s = dlc.reduce_sum %e {axes = array<i64: 1>, keepdims} : (tensor<33x10xf32>) -> tensor<33x1xf32>
      %l = dlc.log %s : (tensor<33x1xf32>) -> tensor<33x1xf32>
      %lse1 = dlc.add %l, %m : (tensor<33x1xf32>, tensor<33x1xf32>) -> tensor<33x1xf32>
      %lse = dlc.reshape %lse1 : (tensor<33x1xf32>) -> tensor<33xf32>
      %i = dlc.iota {axis = 1} : () -> tensor<33x10xi64>
      %t1 = dlc.reshape %t : (tensor<33xi64>) -> tensor<33x1xi64>
      %h = dlc.compare eq %i, %t1 : (tensor<33x10xi64>, tensor<33x1xi64>) -> tensor<33x10xi1>
      %z = dlc.constant dense<0.0> : tensor<f32>
      %c = dlc.select %h, %x, %z : (tensor<33x10xi1>, tensor<33x10xf32>, tensor<f32>) -> tensor<33x10xf32>
      %p = dlc.reduce_sum %c {axes = array<i64: 1>} : (tensor<33x10xf32>) -> tensor<33xf32>
      %y = dlc.sub %lse, %p : (tensor<33xf32>, tensor<33xf32>) -> tensor<33xf32>
      dlc.yield %y, %lse : tensor<33xf32>, tensor<33xf32>
    }
    exec.kernel @gradient {
    ^bb0(%dl: tensor<33xf32>, %x: tensor<33x10xf32>, %t: tensor<33xi64>, %lse: tensor<33xf32>):
      %l1 = dlc.reshape %lse : (tensor<33xf32>) -> tensor<33x1xf32>
      %d1 = dlc.reshape %dl : (tensor<33xf32>) -> tensor<33x1xf32>
      %t1 = dlc.reshape %t : (tensor<33xi64>) -> tensor<33x1xi64>
      %d = dlc.sub %x, %l1 : (tensor<33x10xf32>, tensor<33x1xf32>) -> tensor<33x10xf32>
      %p = dlc.exp %d : (tensor<33x10xf32>) -> tensor<33x10xf32>
      %i = dlc.iota {axis = 1} : () -> tensor<33x10xi64>
      %h = dlc.compare eq %i, %t1 : (tensor<33x10xi64>, tensor<33x1xi64>) -> tensor<33x10xi1>
      %o = dlc.cast %h : (tensor<33x10xi1>) -> tensor<33x10xf32>
      %s = dlc.sub %p, %o : (tensor<33x10xf32>, tensor<33x10xf32>) -> tensor<33x10xf32>
      %y = dlc.mul %s, %d1 : (tensor<33x10xf32>, tensor<33x1xf32>) -> tensor<33x10xf32>
      dlc.yield %y : tensor<33x10xf32>
    })"));
  Array x("f32", {33, 10}, uniform(-5, 5)),
      t("i64", {33}, [](int64_t i) { return i * 7 % 10; }),
      dl("f32", {33}, uniform(0, 1, 2)), loss("f32", {33}), lse("f32", {33}),
      dx("f32", {33, 10});
  kernels.run("loss", {&x, &t}, {&loss, &lse});
  kernels.run("gradient", {&dl, &x, &t, &lse}, {&dx});
  for (int64_t r = 0; r < 33; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < 10; ++c)
      sum += std::exp(x.get(r * 10 + c));
    int64_t label = (int64_t)t.get(r);
    ASSERT_NEAR(lse.get(r), std::log(sum), 1e-6);
    ASSERT_NEAR(loss.get(r), std::log(sum) - x.get(r * 10 + label), 2e-6);
    for (int64_t c = 0; c < 10; ++c)
      ASSERT_NEAR(
          dx.get(r * 10 + c),
          (std::exp(x.get(r * 10 + c)) / sum - (c == label)) * dl.get(r), 1e-6);
  }
}

TEST(Reduce, ColumnsThatStoreWhatTheyAdd) {
  Kernels kernels(module(R"(
    exec.kernel @masked {
    ^bb0(%g: tensor<37x21xbf16>, %y: tensor<37x21xbf16>):
      %zero = dlc.constant dense<0.0> : tensor<bf16>
      %off = dlc.compare le %y, %zero : (tensor<37x21xbf16>, tensor<bf16>) -> tensor<37x21xi1>
      %d = dlc.select %off, %zero, %g : (tensor<37x21xi1>, tensor<bf16>, tensor<37x21xbf16>) -> tensor<37x21xbf16>
      %f = dlc.cast %d : (tensor<37x21xbf16>) -> tensor<37x21xf32>
      %s = dlc.reduce_sum %f {axes = array<i64: 0>, keepdims} : (tensor<37x21xf32>) -> tensor<1x21xf32>
      dlc.yield %s, %d : tensor<1x21xf32>, tensor<37x21xbf16>
    })"));
  Array g("bf16", {37, 21}, uniform(-2, 2)),
      y("bf16", {37, 21}, uniform(-1, 1, 2)), s("f32", {1, 21}),
      d("bf16", {37, 21});
  kernels.run("masked", {&g, &y}, {&s, &d});
  for (int64_t c = 0; c < 21; ++c) {
    double sum = 0;
    for (int64_t i = c; i < 37 * 21; i += 21) {
      const double masked = y.get(i) > 0 ? g.get(i) : 0;
      ASSERT_EQ(d.get(i), masked);
      sum += masked;
    }
    ASSERT_NEAR(s.get(c), sum, 1e-5);
  }
}

TEST(Reduce, ColumnsWithPrologueAndEpilogue) {
  Kernels kernels(module(R"(
    exec.kernel @bn {
    ^bb0(%x: tensor<3x8x5x7xbf16>, %w: tensor<8x1x1xf32>):
      %f = dlc.cast %x : (tensor<3x8x5x7xbf16>) -> tensor<3x8x5x7xf32>
      %q = dlc.mul %f, %w : (tensor<3x8x5x7xf32>, tensor<8x1x1xf32>) -> tensor<3x8x5x7xf32>
      %s = dlc.reduce_sum %q {axes = array<i64: 0, 2, 3>} : (tensor<3x8x5x7xf32>) -> tensor<8xf32>
      %m = dlc.reduce_max %f {axes = array<i64: 0, 2, 3>} : (tensor<3x8x5x7xf32>) -> tensor<8xf32>
      %y = dlc.add %s, %m : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      dlc.yield %y, %m : tensor<8xf32>, tensor<8xf32>
    }
    exec.kernel @nhwc {
    ^bb0(%x: tensor<35x3x24xf32>):
      %q = dlc.mul %x, %x : (tensor<35x3x24xf32>, tensor<35x3x24xf32>) -> tensor<35x3x24xf32>
      %s = dlc.reduce_sum %q {axes = array<i64: 0>, keepdims} : (tensor<35x3x24xf32>) -> tensor<1x3x24xf32>
      %y = dlc.sqrt %s : (tensor<1x3x24xf32>) -> tensor<1x3x24xf32>
      %h = dlc.cast %y : (tensor<1x3x24xf32>) -> tensor<1x3x24xbf16>
      dlc.yield %y, %h : tensor<1x3x24xf32>, tensor<1x3x24xbf16>
    })"));
  Array x("bf16", {3, 8, 5, 7}, uniform(-2, 2)),
      w("f32", {8, 1, 1}, uniform(-1, 1, 2)), y("f32", {8}), m("f32", {8});
  kernels.run("bn", {&x, &w}, {&y, &m});
  for (int64_t c = 0; c < 8; ++c) {
    double sum = 0, most = -INFINITY;
    for (int64_t n = 0; n < 3; ++n)
      for (int64_t i = 0; i < 35; ++i) {
        sum += x.get((n * 8 + c) * 35 + i) * w.get(c);
        most = std::max(most, x.get((n * 8 + c) * 35 + i));
      }
    ASSERT_EQ(m.get(c), most);
    ASSERT_NEAR(y.get(c), sum + most, 1e-5);
  }
  Array z("f32", {35, 3, 24}, uniform(-2, 2)), n("f32", {1, 3, 24}),
      h("bf16", {1, 3, 24});
  kernels.run("nhwc", {&z}, {&n, &h});
  for (int64_t c = 0; c < 72; ++c) {
    double sum = 0;
    for (int64_t i = 0; i < 35; ++i)
      sum += z.get(i * 72 + c) * z.get(i * 72 + c);
    ASSERT_NEAR(n.get(c), std::sqrt(sum), 1e-5);
    ASSERT_EQ(h.get(c), roundToBf16(n.get(c)));
  }
}
