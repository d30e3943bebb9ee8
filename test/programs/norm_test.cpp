// SPDX-License-Identifier: Apache-2.0
// Training batch norm by generated kernels.
#include "test/programs/Programs.h"
#include <gtest/gtest.h>

using namespace dlc::test;

namespace {

struct Images {
  std::vector<int64_t> shape;
  std::string layout;

  int64_t channels() const {
    bool last = layout == "nhwc" || shape.size() == 2;
    return last ? shape.back() : shape[1];
  }
  int64_t channelOf(int64_t i) const {
    if (layout == "nhwc" || shape.size() == 2)
      return i % shape.back();
    int64_t pixels = 1;
    for (size_t d = 2; d < shape.size(); ++d)
      pixels *= shape[d];
    return i / pixels % shape[1];
  }
  std::string tensor(const std::string &type) const {
    return dlc::test::tensor(shape, type);
  }
  std::string vector() const {
    return "tensor<" + std::to_string(channels()) + "xf32>";
  }
};

const Images kImages[] = {{{2, 3, 5, 7}, "nchw"},    {{2, 5, 7, 3}, "nhwc"},
                          {{64, 5}, "nchw"},         {{3, 17}, "nhwc"},
                          {{4, 16, 16, 24}, "nhwc"}, {{8, 9, 8, 64}, "nhwc"},
                          {{4, 24, 16, 16}, "nchw"}, {{2, 1, 1, 8}, "nhwc"},
                          {{6, 4, 31}, "nchw"},      {{31, 37, 1, 1}, "nhwc"}};

double tolerance(const std::string &type) {
  return type == "f32" ? 1e-5 : type == "bf16" ? 0x1p-8 : 0x1p-10;
}

/// Per channel: mean 10 c and deviation 1 + c, or what `x` says.
Array images(const Images &i, const std::string &type) {
  auto random = uniform(-1, 1, 3);
  return Array(type, i.shape, [&](int64_t at) {
    int64_t c = i.channelOf(at) % 5;
    return 10.0 * c + (1 + c) * random(at);
  });
}

std::string forward(const Images &i, const std::string &type) {
  std::string x = i.tensor(type), v = i.vector();
  return "func.func @f(%x: " + x + ", %s: " + v + ", %b: " + v + ", %m: " + v +
         ", %v: " + v + ") -> (" + x + ", " + v + ", " + v + ", " + v + ", " +
         v +
         ") {\n  %y:5 = dlc.batch_norm %x, %s, %b, %m, %v {epsilon = "
         "1.0e-5 : f64, momentum = 0.9 : f64, unbiased, layout = \"" +
         i.layout + "\"} : (" + x + ", " + v + ", " + v + ", " + v + ", " + v +
         ") -> (" + x + ", " + v + ", " + v + ", " + v + ", " + v +
         ")\n  return %y#0, %y#1, %y#2, %y#3, %y#4 : " + x + ", " + v + ", " +
         v + ", " + v + ", " + v + "\n}\n";
}

/// Of relu(batch_norm(x)), by dz, with statistics that are given.
std::string backward(const Images &i, const std::string &type) {
  std::string x = i.tensor(type), v = i.vector();
  return "func.func @f(%dz: " + x + ", %y: " + x + ", %x: " + x + ", %s: " + v +
         ", %m: " + v + ", %v: " + v + ") -> (" + x + ", " + v + ", " + v +
         ") {\n  %zero = dlc.constant dense<0.0> : tensor<" + type +
         ">\n  %off = dlc.compare le %y, %zero : (" + x + ", tensor<" + type +
         ">) -> " + i.tensor("i1") +
         "\n  %dy = dlc.select %off, %zero, %dz : (" + i.tensor("i1") +
         ", tensor<" + type + ">, " + x + ") -> " + x +
         "\n  %g:3 = dlc.batch_norm_backward %dy, %x, %s, %m, %v {epsilon = "
         "1.0e-5 : f64, layout = \"" +
         i.layout + "\"} : (" + x + ", " + x + ", " + v + ", " + v + ", " + v +
         ") -> (" + x + ", " + v + ", " + v +
         ")\n  return %g#0, %g#1, %g#2 : " + x + ", " + v + ", " + v + "\n}\n";
}

Array vectorOf(const Images &i, double low, double high, unsigned seed) {
  return Array("f32", {i.channels()}, uniform(low, high, seed));
}

TEST(BatchNorm, Forward) {
  for (const std::string type : {"f32", "bf16", "f16"})
    for (const Images &i : kImages)
      expectSameProgram(forward(i, type),
                        {images(i, type), vectorOf(i, 0.5, 2, 1),
                         vectorOf(i, -1, 1, 2), vectorOf(i, -1, 1, 3),
                         vectorOf(i, 0.5, 2, 4)},
                        tolerance(type), tolerance(type) / 4);
}

TEST(BatchNorm, Backward) {
  for (const std::string type : {"f32", "bf16", "f16"})
    for (const Images &i : kImages)
      expectSameProgram(backward(i, type),
                        {Array(type, i.shape, uniform(-1, 1, 5)),
                         Array(type, i.shape, uniform(-1, 1, 6)),
                         images(i, type), vectorOf(i, 0.5, 2, 1),
                         vectorOf(i, -1, 1, 2), vectorOf(i, 0.5, 2, 3)},
                        tolerance(type), tolerance(type));
}

/// E[x^2] - E[x]^2 has no correct digit here.
TEST(BatchNorm, LargeMeanAndSmallVariance) {
  Images i{{16, 12, 12, 8}, "nhwc"};
  auto random = uniform(-1, 1, 7);
  Array x("f32", i.shape, [&](int64_t at) {
    return 1000.0 * (1 + i.channelOf(at)) + 0.25 * random(at);
  });
  expectSameProgram(forward(i, "f32"),
                    {x, vectorOf(i, 0.5, 2, 1), vectorOf(i, -1, 1, 2),
                     vectorOf(i, -1, 1, 3), vectorOf(i, 0.5, 2, 4)},
                    1e-4, 1e-3);
}

/// The first value, which is the pivot, lies far from all others.
TEST(BatchNorm, OutlierFirst) {
  Images i{{8, 32, 32, 8}, "nhwc"};
  auto random = uniform(-1, 1, 8);
  Array x("f32", i.shape,
          [&](int64_t at) { return at < i.channels() ? 100.0 : random(at); });
  expectSameProgram(forward(i, "f32"),
                    {x, vectorOf(i, 0.5, 2, 1), vectorOf(i, -1, 1, 2),
                     vectorOf(i, -1, 1, 3), vectorOf(i, 0.5, 2, 4)},
                    1e-4, 1e-3);
}

} // namespace
