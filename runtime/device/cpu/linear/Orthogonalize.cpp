// SPDX-License-Identifier: Apache-2.0
// orthogonalize: Q of x = Q R, by Householder reflections in the order and with
// the signs of LAPACK's dgeqr2 and dorg2r. In f64, by one thread, with sums in
// eight lanes on every CPU: all ranks get bitwise equal results.
#include "runtime/device/cpu/Dispatch.h"
#include "runtime/device/cpu/Kinds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dlc {
namespace {

double dotOf(const double *a, const double *b, int64_t n) {
  constexpr int64_t kLanes = 8;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += a[i + lane] * b[i + lane];
  for (; i < n; ++i)
    lanes[i % kLanes] += a[i] * b[i];
  return std::accumulate(lanes, lanes + kLanes, 0.0);
}

// H = I - tau v v^T with v[0] = 1 maps x to a multiple of the first unit
// vector: v replaces x.
double reflectorOf(double *x, int64_t n) {
  const double tail = std::sqrt(dotOf(x + 1, x + 1, n - 1)), first = x[0];
  x[0] = 1;
  if (tail == 0)
    return 0;
  const double norm = -std::copysign(std::hypot(first, tail), first);
  for (int64_t i = 1; i < n; ++i)
    x[i] /= first - norm;
  return (norm - first) / norm;
}

void reflect(double *x, const double *v, double tau, int64_t n) {
  const double by = tau * dotOf(v, x, n);
  for (int64_t i = 0; i < n; ++i)
    x[i] -= by * v[i];
}

template <class T> class Orthogonalize final : public Command {
public:
  Orthogonalize(const Operand &x, const Operand &y, int64_t rows,
                int64_t columns)
      : x_(reinterpret_cast<const T *>(x.data)),
        y_(reinterpret_cast<T *>(y.data)), rows_(rows), columns_(columns),
        reflectors_(static_cast<size_t>(rows * columns)),
        q_(reflectors_.size()), taus_(static_cast<size_t>(columns)) {}

  Status enqueue() override {
    double *const v = reflectors_.data(), *const q = q_.data();
    for (int64_t c = 0; c < columns_; ++c)
      for (int64_t r = 0; r < rows_; ++r)
        v[c * rows_ + r] = load(x_[r * columns_ + c]);
    for (int64_t c = 0; c < columns_; ++c) {
      double *const own = v + c * rows_ + c;
      taus_[static_cast<size_t>(c)] = reflectorOf(own, rows_ - c);
      for (int64_t later = c + 1; later < columns_; ++later)
        reflect(v + later * rows_ + c, own, taus_[static_cast<size_t>(c)],
                rows_ - c);
    }
    std::fill(q_.begin(), q_.end(), 0);
    for (int64_t c = columns_; c-- > 0;) {
      q[c * rows_ + c] = 1;
      for (int64_t later = c; later < columns_; ++later)
        reflect(q + later * rows_ + c, v + c * rows_ + c,
                taus_[static_cast<size_t>(c)], rows_ - c);
    }
    for (int64_t r = 0; r < rows_; ++r)
      for (int64_t c = 0; c < columns_; ++c)
        store(y_[r * columns_ + c], static_cast<Compute<T>>(q[c * rows_ + r]));
    return {};
  }

private:
  const T *x_;
  T *y_;
  const int64_t rows_, columns_;
  std::vector<double> reflectors_, q_; // column-major
  std::vector<double> taus_;
};

Result<std::unique_ptr<Command>> bindOrthogonalize(CpuDevice &,
                                                   const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 1, 1));
  DLC_TRY(expectFloats(spec));
  const Operand &x = spec.inputs[0], &y = spec.outputs[0];
  const Shape shape = shapeOf(x);
  if (shape.size() != 2 || shape[1] > shape[0] || shape[1] < 1)
    return incompatible(spec, "x is no matrix with as many rows as columns");
  DLC_TRY(expectShape(spec, y, shape, "y"));
  DLC_TRY(expectType(spec, y, {typeOf(x)}, "y"));
  return dispatchFloat(
      typeOf(x), [&]<class T>(T) -> Result<std::unique_ptr<Command>> {
        return std::make_unique<Orthogonalize<T>>(x, y, shape[0], shape[1]);
      });
}

constexpr Kind kOrthogonalizeKinds[] = {{"orthogonalize", bindOrthogonalize}};

} // namespace

std::span<const Kind> orthogonalizeKinds() { return kOrthogonalizeKinds; }

} // namespace dlc
