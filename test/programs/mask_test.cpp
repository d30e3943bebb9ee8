// SPDX-License-Identifier: Apache-2.0
// Gradients of ReLUs whose masks are packed: their sums over columns, beside
// the ReLU's result, which others read.
#include "test/programs/Programs.h"
#include <gtest/gtest.h>

using namespace dlc::test;

namespace {

std::string pair(const std::string &t) {
  return " : (" + t + ", " + t + ") -> " + t;
}

/// y = relu(a factor + b), and of its gradient the columns' sums.
std::string program(const Sizes &shape, const std::string &type) {
  const std::string t = tensor(shape, type), wide = tensor(shape, "f32"),
                    v = tensor({shape.back()}, "f32"),
                    sums = tensor({shape.back()}, "f32");
  std::string axes;
  for (size_t axis = 0; axis + 1 < shape.size(); ++axis)
    axes += (axis ? ", " : "") + std::to_string(axis);
  return "func.func @f(%a: " + t + ", %factor: " + v + ", %b: " + t +
         ", %dy: " + t + ") -> (" + t + ", " + sums +
         ") {\n  %0 = dlc.cast %a : (" + t + ") -> " + wide +
         "\n  %1 = dlc.mul %0, %factor : (" + wide + ", " + v + ") -> " + wide +
         "\n  %2 = dlc.cast %1 : (" + wide + ") -> " + t +
         "\n  %3 = dlc.add %2, %b" + pair(t) + "\n  %y = dlc.relu %3 : (" + t +
         ") -> " + t + "\n  %d = dlc.relu_backward %dy, %y" + pair(t) +
         "\n  %4 = dlc.cast %d : (" + t + ") -> " + wide +
         "\n  %s = dlc.reduce_sum %4 {axes = array<i64: " + axes + ">} : (" +
         wide + ") -> " + sums + "\n  return %y, %s : " + t + ", " + sums +
         "\n}\n";
}

/// Zeros are among the values, and every type holds what is computed of them.
Array values(const std::string &type, const Sizes &shape, int seed) {
  auto random = uniform(-2, 2, seed);
  return Array(type, shape,
               [&](int64_t i) { return double(int64_t(random(i) * 4)) / 4; });
}

TEST(Mask, SumsOfColumns) {
  const Sizes shapes[] = {{64, 16}, {3, 5, 7, 8}, {33, 24}, {40, 10}, {2, 264}};
  for (const std::string type : {"f32", "bf16", "f16"})
    for (const Sizes &shape : shapes)
      expectSameProgram(program(shape, type),
                        {values(type, shape, 1),
                         values("f32", {shape.back()}, 2),
                         values(type, shape, 3), values(type, shape, 4)},
                        0, 0);
}

} // namespace
