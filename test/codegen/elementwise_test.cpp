// SPDX-License-Identifier: Apache-2.0
// Every elementwise op against libm in double.
#include "Kernels.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace dlc::test;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double geluErf(double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); }
double geluTanh(double x) {
  return 0.5 * x *
         (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

struct Unary {
  const char *name, *op, *attributes;
  double (*f)(double);
  double low, high;
  double relative, absolute; // bounds for f32
};

const Unary kUnary[] = {
    {"neg", "neg", "", [](double x) { return -x; }, -9, 9, 0, 0},
    {"abs", "abs", "", [](double x) { return std::fabs(x); }, -9, 9, 0, 0},
    {"sign", "sign", "", [](double x) { return double((x > 0) - (x < 0)); }, -9,
     9, 0, 0},
    {"floor", "floor", "", [](double x) { return std::floor(x); }, -9, 9, 0, 0},
    {"ceil", "ceil", "", [](double x) { return std::ceil(x); }, -9, 9, 0, 0},
    {"round", "round", "", [](double x) { return std::nearbyint(x); }, -9, 9, 0,
     0},
    {"exp", "exp", "", [](double x) { return std::exp(x); }, -87, 88, 2.5e-7,
     0},
    {"log", "log", "", [](double x) { return std::log(x); }, 1e-30, 50, 3e-7,
     0},
    {"log_near_1", "log", "", [](double x) { return std::log(x); }, 0.5, 2,
     3e-7, 0},
    {"sqrt", "sqrt", "", [](double x) { return std::sqrt(x); }, 0, 100, 6e-8,
     0},
    {"rsqrt", "rsqrt", "", [](double x) { return 1 / std::sqrt(x); }, 1e-6, 100,
     1.3e-7, 0},
    {"reciprocal", "reciprocal", "", [](double x) { return 1 / x; }, 0.01, 100,
     6e-8, 0},
    {"tanh", "tanh", "", [](double x) { return std::tanh(x); }, -12, 12, 5e-7,
     0},
    {"tanh_small", "tanh", "", [](double x) { return std::tanh(x); }, -0.01,
     0.01, 3e-7, 0},
    {"sigmoid", "sigmoid", "", sigmoid, -80, 80, 4e-7, 0},
    {"relu", "relu", "", [](double x) { return x < 0 ? 0 : x; }, -9, 9, 0, 0},
    {"stop_gradient", "stop_gradient", "", [](double x) { return x; }, -9, 9, 0,
     0},
    {"scale_gradient", "scale_gradient", "{factor = 5.0e-1}",
     [](double x) { return x; }, -9, 9, 0, 0},
    {"erf", "erf", "", [](double x) { return std::erf(x); }, -6, 6, 1e-6, 0},
    {"erf_small", "erf", "", [](double x) { return std::erf(x); }, -0.01, 0.01,
     1e-6, 0},
    {"sin", "sin", "", [](double x) { return std::sin(x); }, -7, 7, 2e-7, 0},
    {"cos", "cos", "", [](double x) { return std::cos(x); }, -7, 7, 2e-7, 0},
    {"sin_far", "sin", "", [](double x) { return std::sin(x); }, -1e9, 1e9, 0,
     1.2e-7},
    {"cos_far", "cos", "", [](double x) { return std::cos(x); }, -1e9, 1e9, 0,
     1.2e-7},
    {"softplus", "softplus", "",
     [](double x) { return std::log1p(std::exp(x)); }, -40, 40, 1e-6},
    {"gelu", "gelu", "", geluErf, -6, 6, 2e-6, 4e-7},
    {"gelu_tanh", "gelu", "{tanh}", geluTanh, -6, 6, 2e-6, 7e-7},
};

constexpr int64_t kCount = 6007; // three items, the last one odd

std::string unaryKernel(const Unary &u, const std::string &name,
                        const std::string &t) {
  std::string s = std::to_string(kCount),
              tensor = "tensor<" + s + "x" + t + ">";
  return "exec.kernel @k_" + name + " {\n^bb0(%x: " + tensor +
         "):\n  %y = dlc." + u.op + " %x " + u.attributes + " : (" + tensor +
         ") -> " + tensor + "\n  dlc.yield %y : " + tensor + "\n}\n";
}

std::string allUnary(const std::string &type) {
  std::string text;
  for (const Unary &u : kUnary)
    text += unaryKernel(u, u.name, type);
  return module(text);
}

/// Values at even distances, the ends included.
Array grid(const std::string &type, double low, double high) {
  return Array(type, {kCount}, [=](int64_t i) {
    return low + (high - low) * i / (kCount - 1);
  });
}

void check(Kernels &kernels, const Unary &u, const std::string &type,
           double relative, double absolute) {
  Array x = grid(type, u.low, u.high), y(type, {kCount});
  kernels.run(std::string("k_") + u.name, {&x}, {&y});
  double worst = 0, worstRelative = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    double want = u.f(x.get(i)), got = y.get(i), error = std::fabs(got - want);
    worst = std::max(worst, error);
    if (want != 0)
      worstRelative = std::max(worstRelative, error / std::fabs(want));
    ASSERT_LE(error, std::fabs(want) * relative + absolute)
        << u.name << "(" << x.get(i) << ") = " << got << ", expected " << want;
  }
  printf("%-14s %-4s max error %.2g, relative %.2g\n", u.name, type.c_str(),
         worst, worstRelative);
}

} // namespace

TEST(Elementwise, F32IsCloseToLibm) {
  Kernels kernels(allUnary("f32"));
  for (const Unary &u : kUnary)
    check(kernels, u, "f32", u.relative, u.absolute);
}

TEST(Elementwise, F32OnOtherCpus) {
  for (const char *cpu : {"haswell", "x86-64"}) {
    Kernels kernels(allUnary("f32"), cpu);
    for (const Unary &u : kUnary)
      check(kernels, u, "f32", u.relative, u.absolute);
  }
}

TEST(Elementwise, F64IsAsGoodAsLibm) {
  Kernels kernels(allUnary("f64"));
  for (const Unary &u : kUnary)
    check(kernels, u, "f64", u.relative ? 1e-14 : 0, u.absolute ? 1e-15 : 0);
}

TEST(Elementwise, SpecialValues) {
  Kernels kernels(allUnary("f32"));
  struct Case {
    const char *kernel;
    double x, y;
  };
  const Case cases[] = {
      {"exp", -kInf, 0},
      {"exp", kInf, kInf},
      {"exp", kNan, kNan},
      {"exp", 0, 1},
      {"exp", 200, kInf},
      {"exp", -200, 0},
      {"log", 0, -kInf},
      {"log", kInf, kInf},
      {"log", -1, kNan},
      {"log", kNan, kNan},
      {"log", 1, 0},
      {"tanh", kInf, 1},
      {"tanh", -kInf, -1},
      {"tanh", kNan, kNan},
      {"tanh", 50, 1},
      {"tanh", 0, 0},
      {"erf", kInf, 1},
      {"erf", -kInf, -1},
      {"erf", kNan, kNan},
      {"erf", 0, 0},
      {"sigmoid", kInf, 1},
      {"sigmoid", -kInf, 0},
      {"sigmoid", kNan, kNan},
      {"sigmoid", -1000, 0},
      {"sqrt", -1, kNan},
      {"sqrt", kInf, kInf},
      {"rsqrt", 0, kInf},
      {"relu", kNan, kNan},
      {"relu", -kInf, 0},
      {"relu", kInf, kInf},
      {"softplus", kInf, kInf},
      {"softplus", -kInf, 0},
      {"softplus", kNan, kNan},
      {"gelu", kNan, kNan},
      {"gelu_tanh", kNan, kNan},
      {"gelu_tanh", 100, 100},
      {"gelu", 100, 100},
      {"sin", kNan, kNan},
      {"cos", kNan, kNan},
      {"sign", -kInf, -1},
      {"sign", kNan, kNan},
      {"neg", 0, 0},
  };
  for (const Case &c : cases) {
    Array x("f32", {kCount}, [&](int64_t) { return c.x; }), y("f32", {kCount});
    kernels.run(std::string("k_") + c.kernel, {&x}, {&y});
    for (int64_t i : {int64_t(0), kCount - 1}) // vector and scalar code
      EXPECT_TRUE(std::isnan(c.y) ? std::isnan(y.get(i)) : y.get(i) == c.y)
          << c.kernel << "(" << c.x << ") = " << y.get(i) << ", expected "
          << c.y;
  }
}

TEST(Elementwise, Binary) {
  struct Case {
    const char *op;
    double (*f)(double, double);
    double relative;
  };
  const Case cases[] = {
      {"add", [](double a, double b) { return a + b; }, 1e-6},
      {"sub", [](double a, double b) { return a - b; }, 1e-6},
      {"mul", [](double a, double b) { return a * b; }, 1e-7},
      {"div", [](double a, double b) { return a / b; }, 1e-7},
      {"pow", [](double a, double b) { return std::pow(a, b); }, 1e-6},
      {"max", [](double a, double b) { return std::fmax(a, b); }, 0},
      {"min", [](double a, double b) { return std::fmin(a, b); }, 0},
  };
  std::string text;
  for (const Case &c : cases)
    text +=
        std::string("exec.kernel @k_") + c.op +
        " {\n^bb0(%a: tensor<13x7x5xf32>, %b: tensor<7x1xf32>):\n  %y = dlc." +
        c.op +
        " %a, %b : (tensor<13x7x5xf32>, tensor<7x1xf32>) -> "
        "tensor<13x7x5xf32>\n"
        "  dlc.yield %y : tensor<13x7x5xf32>\n}\n";
  Kernels kernels(module(text));
  Array a("f32", {13, 7, 5}, uniform(0.1, 4)),
      b("f32", {7, 1}, uniform(-2, 2, 2));
  for (const Case &c : cases) {
    Array y("f32", {13, 7, 5});
    kernels.run(std::string("k_") + c.op, {&a, &b}, {&y});
    for (int64_t i = 0; i < y.size(); ++i) {
      double want = c.f(a.get(i), b.get(i / 5 % 7));
      ASSERT_NEAR(y.get(i), want,
                  std::fabs(want) * c.relative + (c.relative ? 3e-7 : 0))
          << c.op;
    }
  }
  b.set(0, kNan);
  for (const char *op : {"k_max", "k_min"}) {
    Array y("f32", {13, 7, 5});
    kernels.run(op, {&a, &b}, {&y});
    EXPECT_TRUE(std::isnan(y.get(0))) << op;
  }
}

TEST(Elementwise, PowOfConstants) {
  std::string text;
  const std::pair<const char *, double> exponents[] = {{"two", 2},
                                                       {"three", 3},
                                                       {"half", 0.5},
                                                       {"minus_one", -1},
                                                       {"minus_half", -0.5}};
  for (auto [name, e] : exponents)
    text += std::string("exec.kernel @") + name +
            " {\n^bb0(%a: tensor<100xf32>):\n  %e = dlc.constant dense<" +
            std::to_string(e) +
            "> : tensor<f32>\n  %y = dlc.pow %a, %e : (tensor<100xf32>, "
            "tensor<f32>) -> "
            "tensor<100xf32>\n  dlc.yield %y : tensor<100xf32>\n}\n";
  Kernels kernels(module(text));
  Array a("f32", {100}, uniform(0.1, 4)), y("f32", {100});
  for (auto [name, e] : exponents) {
    kernels.run(name, {&a}, {&y});
    for (int64_t i = 0; i < 100; ++i)
      ASSERT_NEAR(y.get(i), std::pow(a.get(i), e), std::pow(a.get(i), e) * 3e-7)
          << name;
  }
}

TEST(Elementwise, CompareSelectAndBools) {
  Kernels kernels(module(R"(
    exec.kernel @clamp {
    ^bb0(%a: tensor<333xf32>, %b: tensor<333xf32>):
      %c = dlc.compare lt %a, %b : (tensor<333xf32>, tensor<333xf32>) -> tensor<333xi1>
      %f = dlc.is_finite %a : (tensor<333xf32>) -> tensor<333xi1>
      %n = dlc.not %c : (tensor<333xi1>) -> tensor<333xi1>
      %o = dlc.and %f, %n : (tensor<333xi1>, tensor<333xi1>) -> tensor<333xi1>
      %y = dlc.select %o, %a, %b : (tensor<333xi1>, tensor<333xf32>, tensor<333xf32>) -> tensor<333xf32>
      %z = dlc.cast %o : (tensor<333xi1>) -> tensor<333xf32>
      dlc.yield %o, %y, %z : tensor<333xi1>, tensor<333xf32>, tensor<333xf32>
    })"));
  Array a("f32", {333}, uniform(-1, 1)), b("f32", {333}, uniform(-1, 1, 2));
  a.set(3, kInf);
  a.set(4, kNan);
  Array o("i1", {333}), y("f32", {333}), z("f32", {333});
  kernels.run("clamp", {&a, &b}, {&o, &y, &z});
  for (int64_t i = 0; i < 333; ++i) {
    bool want = std::isfinite(a.get(i)) && !(a.get(i) < b.get(i));
    ASSERT_EQ(o.get(i), want) << i;
    ASSERT_EQ(y.get(i), want ? a.get(i) : b.get(i)) << i;
    ASSERT_EQ(z.get(i), want) << i;
  }
}

TEST(Elementwise, CastsBetweenAllTypes) {
  const char *types[] = {"f32", "f64", "bf16", "f16", "i64", "i32", "i8", "i1"};
  std::string text;
  for (std::string from : types)
    for (std::string to : types)
      if (from != to)
        text += "exec.kernel @" + from + "_" + to + " {\n^bb0(%x: tensor<77x" +
                from + ">):\n  %y = dlc.cast %x : (tensor<77x" + from +
                ">) -> tensor<77x" + to + ">\n  dlc.yield %y : tensor<77x" +
                to + ">\n}\n";
  Kernels kernels(module(text));
  for (std::string from : types)
    for (std::string to : types) {
      if (from == to)
        continue;
      const bool bytes = from == "i8" || to == "i8"; // 0 to 255
      Array x(from, {77}, [&](int64_t i) {
        return from == "i1" ? i % 2 : bytes ? i * 3.25 : (i - 38) * 1.125;
      });
      Array y(to, {77}), want(to, {77});
      kernels.run(from + "_" + to, {&x}, {&y});
      for (int64_t i = 0; i < 77; ++i) {
        want.set(i, to == "i1" ? x.get(i) != 0 : x.get(i));
        ASSERT_EQ(y.get(i), want.get(i))
            << from << " to " << to << " of " << x.get(i);
      }
    }
}

TEST(Elementwise, OptimizersAndLerpInPlace) {
  Kernels kernels(module(R"(
    exec.kernel @sgd {
    ^bb0(%w: tensor<5000xf32>, %g: tensor<5000xf32>, %lr: tensor<f32>, %m: tensor<5000xf32>):
      %momentum = dlc.constant dense<0.9> : tensor<f32>
      %decay = dlc.constant dense<0.01> : tensor<f32>
      %pull = dlc.mul %w, %decay : (tensor<5000xf32>, tensor<f32>) -> tensor<5000xf32>
      %sum = dlc.add %g, %pull : (tensor<5000xf32>, tensor<5000xf32>) -> tensor<5000xf32>
      %kept = dlc.mul %m, %momentum : (tensor<5000xf32>, tensor<f32>) -> tensor<5000xf32>
      %m2 = dlc.add %kept, %sum : (tensor<5000xf32>, tensor<5000xf32>) -> tensor<5000xf32>
      %far = dlc.mul %m2, %lr : (tensor<5000xf32>, tensor<f32>) -> tensor<5000xf32>
      %w2 = dlc.sub %w, %far : (tensor<5000xf32>, tensor<5000xf32>) -> tensor<5000xf32>
      %h = dlc.cast %w2 : (tensor<5000xf32>) -> tensor<5000xbf16>
      dlc.yield %w2, %m2, %h : tensor<5000xf32>, tensor<5000xf32>, tensor<5000xbf16>
    }
    exec.kernel @lerp {
    ^bb0(%a: tensor<50xf64>, %b: tensor<50xf64>, %t: tensor<50xf64>):
      %y = dlc.lerp %a, %b, %t : (tensor<50xf64>, tensor<50xf64>, tensor<50xf64>) -> tensor<50xf64>
      dlc.yield %y : tensor<50xf64>
    })"));
  Array w("f32", {5000}, uniform(-1, 1)), g("f32", {5000}, uniform(-1, 1, 2));
  Array m("f32", {5000}, uniform(-1, 1, 3)),
      lr("f32", {}, [](int64_t) { return 0.1; });
  Array w0 = w, m0 = m, h("bf16", {5000});
  kernels.runRaw("sgd", {w.bytes.data(), g.bytes.data(), lr.bytes.data(),
                         m.bytes.data(), w.bytes.data(), m.bytes.data(),
                         h.bytes.data()});
  for (int64_t i = 0; i < 5000; ++i) {
    double m2 = 0.9 * m0.get(i) + g.get(i) + 0.01 * w0.get(i);
    ASSERT_NEAR(m.get(i), m2, 4e-7) << i;
    ASSERT_NEAR(w.get(i), w0.get(i) - 0.1 * m2, 4e-7) << i;
    ASSERT_EQ(h.get(i), roundToBf16(w.get(i))) << i;
  }
  Array a("f64", {50}, uniform(-1, 1)), b("f64", {50}, uniform(-1, 1, 2)),
      t("f64", {50}, uniform(0, 1, 3)), y("f64", {50});
  kernels.run("lerp", {&a, &b, &t}, {&y});
  for (int64_t i = 0; i < 50; ++i)
    ASSERT_NEAR(y.get(i), a.get(i) + t.get(i) * (b.get(i) - a.get(i)), 1e-15);
}
