// gather and scatter_add on the emulated GPU against plain loops.
#include "test/codegen/Kernels.h"
#include <gtest/gtest.h>
#include <tuple>

using namespace dlc::test;

namespace {

/// Types of the table and of what is picked from it or added to it.
struct Case {
  int64_t outer, size, inner, count;
  std::string type, other;
};

std::string tensor(const std::string &shape, const std::string &type) {
  return "tensor<" + shape + "x" + type + ">";
}
std::string x(int64_t a, int64_t b, int64_t c) {
  return std::to_string(a) + "x" + std::to_string(b) + "x" + std::to_string(c);
}

/// In [-size, size), many of them equal.
std::function<double(int64_t)> indices(const Case &c) {
  return [&c](int64_t i) {
    return double((i * i * 7 + i / 3) % c.size - (i % 4 == 3 ? c.size : 0));
  };
}
int64_t row(const Array &indices, const Case &c, int64_t i) {
  auto at = static_cast<int64_t>(indices.get(i));
  return at < 0 ? at + c.size : at;
}

const Case kCases[] = {
    {1, 96, 64, 256, "f32", "f32"},   {1, 1, 1, 1, "f32", "f32"},
    {3, 5, 7, 33, "f32", "f32"},      {2, 4, 300, 31, "bf16", "bf16"},
    {1, 3, 1100, 65, "f16", "f16"},   {1, 2, 2500, 3, "f32", "f32"},
    {2, 9, 24, 400, "bf16", "f32"},   {1, 7, 5, 300, "f64", "f64"},
    {1, 1000, 8, 2000, "f32", "f32"},
};

} // namespace

TEST(Lookup, Gather) {
  for (Case c : kCases) {
    std::string table = tensor(x(c.outer, c.size, c.inner), c.type),
                index = tensor(std::to_string(c.count), "i64"),
                y = tensor(x(c.outer, c.count, c.inner), c.type);
    Kernels kernels(module(
        "exec.kernel @k {\n^bb0(%d: " + table + ", %i: " + index +
        "):\n %y = dlc.gather %d, %i {axis = 1 : i64} : (" + table + ", " +
        index + ") -> " + y + "\n dlc.yield %y : " + y + "\n}\n"));
    Array data(c.type, {c.outer, c.size, c.inner}, uniform(-1, 1)),
        at("i64", {c.count}, indices(c)),
        got(c.type, {c.outer, c.count, c.inner});
    kernels.run("k", {&data, &at}, {&got});
    for (int64_t i = 0; i < got.size(); ++i) {
      int64_t line = i / c.inner, o = line / c.count;
      int64_t from = (o * c.size + row(at, c, line % c.count)) * c.inner;
      ASSERT_EQ(got.get(i), data.get(from + i % c.inner)) << i << " " << table;
    }
  }
}

/// Rows beyond the table do not leave it.
TEST(Lookup, GatherOutOfRange) {
  Kernels kernels(module(R"(exec.kernel @k {
    ^bb0(%d: tensor<3x4xf32>, %i: tensor<2xi64>):
      %y = dlc.gather %d, %i {axis = 0 : i64} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
      dlc.yield %y : tensor<2x4xf32>
    })"));
  Array data("f32", {3, 4}, [](int64_t i) { return double(i); }),
      at("i64", {2}, [](int64_t i) { return i ? 1e12 : -7; }),
      got("f32", {2, 4});
  kernels.run("k", {&data, &at}, {&got});
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(got.get(i), 8 + i % 4);
}

TEST(Lookup, ScatterAdd) {
  for (Case c : kCases) {
    std::string y = tensor(x(c.outer, c.size, c.inner), c.type),
                index = tensor(std::to_string(c.count), "i64"),
                updates = tensor(x(c.outer, c.count, c.inner), c.other);
    Kernels kernels(module(
        "exec.kernel @k {\n^bb0(%i: " + index + ", %u: " + updates +
        "):\n %y = dlc.scatter_add %i, %u {axis = 1 : i64} : (" + index + ", " +
        updates + ") -> " + y + "\n dlc.yield %y : " + y + "\n}\n"));
    Array at("i64", {c.count}, indices(c)),
        from(c.other, {c.outer, c.count, c.inner}, uniform(-1, 1)),
        got(c.type, {c.outer, c.size, c.inner});
    kernels.run("k", {&at, &from}, {&got});
    bool isDouble = c.type == "f64";
    for (int64_t i = 0; i < got.size(); ++i) {
      int64_t line = i / c.inner, o = line / c.size;
      double sum = 0; // in the order and precision of the kernel
      for (int64_t n = 0; n < c.count; ++n)
        if (row(at, c, n) == line % c.size) {
          sum += from.get((o * c.count + n) * c.inner + i % c.inner);
          sum = isDouble ? sum : static_cast<float>(sum);
        }
      Array want(c.type, {1}, [&](int64_t) { return sum; });
      ASSERT_EQ(got.get(i), want.get(0)) << i << " " << y;
    }
  }
}
