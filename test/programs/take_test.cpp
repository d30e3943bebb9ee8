// SPDX-License-Identifier: Apache-2.0
// gather and scatter_add by generated kernels, along every axis.
#include "test/programs/Programs.h"
#include <gtest/gtest.h>

using namespace dlc::test;

namespace {

struct Taken {
  Sizes table, indices;
  int64_t axis;

  Sizes picked() const {
    Sizes s(table.begin(), table.begin() + axis);
    s.insert(s.end(), indices.begin(), indices.end());
    s.insert(s.end(), table.begin() + axis + 1, table.end());
    return s;
  }
  /// Some of them from the end.
  Array values() const {
    auto random = uniform(0, 1, 3);
    int64_t rows = table[axis];
    return Array("i64", indices, [&](int64_t i) {
      int64_t row = int64_t(random(i) * double(rows));
      return double(i % 5 == 4 ? row - rows : row);
    });
  }
};

const Taken kTaken[] = {
    {{11, 64}, {4, 33}, 0}, {{300, 24}, {65}, 0},     {{3, 7, 5}, {2, 3}, 1},
    {{4, 9}, {17}, 1},      {{5, 8}, {}, 0},          {{1, 16}, {40}, 0},
    {{50, 256}, {128}, 0},  {{2, 40, 1100}, {70}, 1}, {{131, 3}, {97}, 0},
};

TEST(Take, Gather) {
  for (const std::string type : {"f32", "bf16"})
    for (const Taken &c : kTaken) {
      std::string x = tensor(c.table, type), i = tensor(c.indices, "i64"),
                  y = tensor(c.picked(), type);
      expectSameProgram(
          "func.func @f(%x: " + x + ", %i: " + i + ", %p: " + y + ") -> " + y +
              " {\n  %y = dlc.gather %x, %i {axis = " + std::to_string(c.axis) +
              " : i64} : (" + x + ", " + i + ") -> " + y +
              "\n  %z = dlc.add %y, %p : (" + y + ", " + y + ") -> " + y +
              "\n  return %z : " + y + "\n}\n",
          {Array(type, c.table, uniform(-1, 1, 1)), c.values(),
           Array(type, c.picked(), uniform(-1, 1, 2))},
          type == "f32" ? 1e-6 : 0x1p-8, 1e-6);
    }
}

TEST(Take, ScatterAdd) {
  for (const std::string type : {"f32", "bf16"})
    for (const Taken &c : kTaken) {
      std::string x = tensor(c.table, type), i = tensor(c.indices, "i64"),
                  y = tensor(c.picked(), type);
      expectSameProgram(
          "func.func @f(%i: " + i + ", %u: " + y + ") -> " + x +
              " {\n  %y = dlc.scatter_add %i, %u {axis = " +
              std::to_string(c.axis) + " : i64} : (" + i + ", " + y + ") -> " +
              x + "\n  return %y : " + x + "\n}\n",
          {c.values(), Array(type, c.picked(), uniform(-1, 1, 2))},
          type == "f32" ? 1e-5 : 0x1p-8, 1e-5);
    }
}

} // namespace
