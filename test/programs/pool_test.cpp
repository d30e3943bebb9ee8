// SPDX-License-Identifier: Apache-2.0
// Pooling by generated kernels: overlapping, dilated and padded windows in both
// layouts, forward and backward.
#include "test/programs/Programs.h"
#include <gtest/gtest.h>

using namespace dlc::test;

namespace {

struct Pooling {
  Sizes image; // n, one to three dimensions, c
  Sizes kernel, strides, pads, dilations;

  Sizes outputs() const {
    Sizes y = image;
    for (size_t d = 0; d < kernel.size(); ++d)
      y[1 + d] = (image[1 + d] + pads[d] + pads[kernel.size() + d] -
                  (kernel[d] - 1) * dilations[d] - 1) /
                     strides[d] +
                 1;
    return y;
  }
  std::string attributes(const std::string &layout, bool padded) const {
    return std::string("{") + (padded ? "count_include_pad, " : "") +
           "kernel = " + list(kernel) + ", strides = " + list(strides) +
           ", pads = " + list(pads) + ", dilations = " + list(dilations) +
           ", layout = \"" + layout + "\"}";
  }
};

const Pooling kPoolings[] = {
    {{2, 8, 8, 16}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}},
    {{2, 11, 9, 8}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
    {{3, 7, 6, 5}, {3, 2}, {1, 3}, {1, 0, 0, 1}, {1, 1}},
    {{1, 9, 8, 3}, {2, 3}, {1, 2}, {2, 1, 0, 1}, {2, 2}},
    {{2, 7, 7, 24}, {7, 7}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
    {{1, 5, 5, 64}, {1, 1}, {3, 2}, {0, 0, 0, 0}, {1, 1}},
    {{2, 21, 6}, {3}, {2}, {1, 1}, {2}},
    {{2, 4, 6, 5, 8}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0, 0, 0, 0}, {1, 1, 1}},
    {{1, 5, 4, 6, 3}, {3, 2, 2}, {2, 1, 2}, {1, 0, 1, 1, 1, 0}, {1, 1, 2}},
    {{2, 3, 3, 3, 5}, {3, 3, 3}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}, {1, 1, 1}},
};

Sizes laidOut(Sizes shape, const std::string &layout) {
  if (layout == "nchw")
    std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return shape;
}

double toleranceOfPools(const std::string &type) {
  return type == "f32" ? 1e-5 : type == "bf16" ? 0x1p-7 : 0x1p-9;
}

/// Multiples of an eighth, so that windows have ties.
Array coarse(const std::string &type, const Sizes &shape) {
  auto random = uniform(-2, 2, 9);
  return Array(type, shape,
               [&](int64_t i) { return double(int64_t(random(i) * 8)) / 8; });
}

/// Each window in one type and layout, all of which come.
template <class F> void forEachCase(F f) {
  size_t count = 0;
  for (const Pooling &c : kPoolings)
    for (const std::string layout : {"nhwc", "nchw"})
      f(c, std::vector<std::string>{"f32", "bf16", "f16"}[count++ / 2 % 3],
        layout);
}

TEST(Pool, MaxAndItsGradient) {
  forEachCase([](const Pooling &c, const std::string &type,
                 const std::string &layout) {
    Sizes image = laidOut(c.image, layout), out = laidOut(c.outputs(), layout);
    std::string x = tensor(image, type), y = tensor(out, type),
                i = tensor(out, "i8"), a = c.attributes(layout, false);
    expectSameProgram(
        "func.func @f(%x: " + x + ", %dy: " + y + ") -> (" + y + ", " + i +
            ", " + x + ") {\n  %y, %i = dlc.max_pool %x " + a + " : (" + x +
            ") -> (" + y + ", " + i +
            ")\n  %d = dlc.max_pool_backward %dy, %i " + a + " : (" + y + ", " +
            i + ") -> " + x + "\n  return %y, %i, %d : " + y + ", " + i + ", " +
            x + "\n}\n",
        {coarse(type, image), Array(type, out, uniform(-1, 1, 4))},
        toleranceOfPools(type), toleranceOfPools(type));
  });
}

/// Each window computes what it sees. The gradient passes the ReLU where the
/// pool's result is as it does where its operand is.
TEST(Pool, BehindRelu) {
  forEachCase([](const Pooling &c, const std::string &type,
                 const std::string &layout) {
    Sizes image = laidOut(c.image, layout), out = laidOut(c.outputs(), layout);
    std::string x = tensor(image, type), y = tensor(out, type),
                i = tensor(out, "i8"), a = c.attributes(layout, false),
                pair = " : (" + y + ", " + i + ") -> " + x,
                images = " : (" + x + ", " + x + ") -> " + x,
                pooled = " : (" + y + ", " + y + ") -> " + y;
    auto results = expectSameProgram(
        "func.func @f(%a: " + x + ", %dy: " + y + ") -> (" + y + ", " + x +
            ", " + x + ") {\n  %s = dlc.add %a, %a" + images +
            "\n  %x = dlc.relu %s : (" + x + ") -> " + x +
            "\n  %y, %i = dlc.max_pool %x " + a + " : (" + x + ") -> (" + y +
            ", " + i + ")\n  %d = dlc.max_pool_backward %dy, %i " + a + pair +
            "\n  %before = dlc.relu_backward %d, %x" + images +
            "\n  %m = dlc.relu_backward %dy, %y" + pooled +
            "\n  %behind = dlc.max_pool_backward %m, %i " + a + pair +
            "\n  return %y, %before, %behind : " + y + ", " + x + ", " + x +
            "\n}\n",
        {coarse(type, image), Array(type, out, uniform(-1, 1, 4))},
        toleranceOfPools(type), toleranceOfPools(type));
    for (int64_t k = 0; k < results.at(1).size(); ++k)
      ASSERT_EQ(results[1].get(k), results[2].get(k));
  });
}

TEST(Pool, MeanAndItsGradient) {
  forEachCase([](const Pooling &c, const std::string &type,
                 const std::string &layout) {
    Sizes image = laidOut(c.image, layout), out = laidOut(c.outputs(), layout);
    std::string x = tensor(image, type), y = tensor(out, type);
    for (bool padded : {false, true}) {
      std::string a = c.attributes(layout, padded);
      expectSameProgram(
          "func.func @f(%x: " + x + ", %dy: " + y + ") -> (" + y + ", " + x +
              ") {\n  %y = dlc.avg_pool %x " + a + " : (" + x + ") -> " + y +
              "\n  %d = dlc.avg_pool_backward %dy " + a + " : (" + y + ") -> " +
              x + "\n  return %y, %d : " + y + ", " + x + "\n}\n",
          {Array(type, image, uniform(-1, 1, 3)),
           Array(type, out, uniform(-1, 1, 4))},
          toleranceOfPools(type), toleranceOfPools(type));
    }
  });
}

} // namespace
