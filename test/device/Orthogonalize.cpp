// SPDX-License-Identifier: Apache-2.0
#include "Fixture.h"

namespace dlc::test {
namespace {

Tensor orthogonalOf(Tensor x, const Shape &shape, plan::DType type) {
  CpuDevice device(2);
  std::vector<Tensor> inputs, outputs;
  inputs.push_back(std::move(x));
  outputs.emplace_back(type, shape);
  const Status status = tryRun(device, "orthogonalize", {}, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  return std::move(outputs[0]);
}

double dotOfColumns(const Tensor &x, const Tensor &y, const Shape &shape,
                    int64_t a, int64_t b) {
  double sum = 0;
  for (int64_t r = 0; r < shape[0]; ++r)
    sum += x[r * shape[1] + a] * y[r * shape[1] + b];
  return sum;
}

void expectOrthonormal(const Tensor &q, const Shape &shape, double tolerance) {
  for (int64_t a = 0; a < shape[1]; ++a)
    for (int64_t b = 0; b < shape[1]; ++b)
      EXPECT_NEAR(dotOfColumns(q, q, shape, a, b), a == b, tolerance);
}

// x = Q (Q^T x), where Q^T x is upper triangular.
TEST(Orthogonalize, SpansTheColumns) {
  for (auto type : {plan::F32, plan::F64, plan::BF16})
    for (const Shape &shape :
         {Shape{1, 1}, Shape{5, 1}, Shape{4, 4}, Shape{131, 7}}) {
      const double tolerance = type == plan::BF16  ? 0.05
                               : type == plan::F32 ? 1e-5
                                                   : 1e-12;
      auto values = randomValues(count(shape), 3);
      values[0] = 1; // not zero
      const Tensor q = orthogonalOf(Tensor(type, shape, values), shape, type);
      expectOrthonormal(q, shape, tolerance);
      const Tensor x(plan::F64, shape, values);
      for (int64_t c = 0; c < shape[1]; ++c) {
        std::vector<double> again(shape[0]);
        for (int64_t b = 0; b < shape[1]; ++b) {
          const double r = dotOfColumns(q, x, shape, b, c);
          if (b > c) {
            EXPECT_NEAR(r, 0, 20 * tolerance);
          }
          for (int64_t row = 0; row < shape[0]; ++row)
            again[row] += q[row * shape[1] + b] * r;
        }
        for (int64_t row = 0; row < shape[0]; ++row)
          EXPECT_NEAR(again[row], x[row * shape[1] + c], 20 * tolerance);
      }
    }
}

// numpy.linalg.qr's numbers, which are LAPACK's.
TEST(Orthogonalize, SignsAreLapacks) {
  const Shape shape{3, 2};
  const Tensor q = orthogonalOf(Tensor(plan::F64, shape, {1, 2, 3, 4, 5, 6}),
                                shape, plan::F64);
  const double expected[] = {-0.16903085094570325, 0.89708522714506,
                             -0.50709255283710986, 0.27602622373694213,
                             -0.8451542547285165,  -0.34503277967117718};
  for (int64_t i = 0; i < 6; ++i)
    EXPECT_NEAR(q[i], expected[i], 1e-14);
}

// A matrix of no rank has columns nonetheless, or a gradient that was zero once
// would never travel again.
TEST(Orthogonalize, DependentColumns) {
  const Shape shape{4, 3};
  const std::vector<double> zero(12, 0);
  expectOrthonormal(
      orthogonalOf(Tensor(plan::F64, shape, zero), shape, plan::F64), shape,
      1e-12);
  expectOrthonormal(orthogonalOf(Tensor(plan::F64, shape,
                                        {1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0}),
                                 shape, plan::F64),
                    shape, 1e-12);
}

TEST(Orthogonalize, WantsAMatrix) {
  CpuDevice device(1);
  for (const Shape &shape : {Shape{3}, Shape{2, 3}, Shape{2, 0}}) {
    std::vector<Tensor> inputs, outputs;
    inputs.emplace_back(plan::F32, shape);
    outputs.emplace_back(plan::F32, shape);
    EXPECT_EQ(
        tryRun(device, "orthogonalize", {}, inputs, outputs).message(),
        "orthogonalize 'node': x is no matrix with as many rows as columns");
  }
}

} // namespace
} // namespace dlc::test
