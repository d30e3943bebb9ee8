// SPDX-License-Identifier: Apache-2.0
#include "test/support/PlainAttention.h"

#include <algorithm>
#include <cmath>

namespace dlc::test {
namespace {

using Array = std::vector<double>;

double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}
void add(double *to, double factor, const double *from, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    to[i] += factor * from[i];
}

class Loops {
public:
  Loops(const AttentionShape &s, AttentionValues &x) : s(s), x(x) {}

  void forward() {
    x.y.assign(elements(s.queries, s.valueDepth), 0);
    x.lse.assign(elements(s.queries, 1), INFINITY);
    forEachQuery([&](auto... at) { forward(at...); });
  }
  void backward() {
    x.dq.assign(x.q.size(), 0);
    x.dk.assign(x.k.size(), 0);
    x.dv.assign(x.v.size(), 0);
    forEachQuery([&](auto... at) { backward(at...); });
  }

private:
  size_t elements(int64_t length, int64_t width) const {
    return static_cast<size_t>(s.batch * s.heads * length * width);
  }
  double *row(Array &a, int64_t b, int64_t h, int64_t t, int64_t length,
              int64_t width) const {
    return a.data() + width * (s.lengthFirst ? (b * length + t) * s.heads + h
                                             : (b * s.heads + h) * length + t);
  }
  double added(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t at[] = {b, h, i, j};
    int64_t flat = 0;
    for (int d = 0; d < 4; ++d)
      flat = flat * s.mask[d] + (s.mask[d] == 1 ? 0 : at[d]);
    return x.mask[static_cast<size_t>(flat)];
  }

  template <class F> void forEachQuery(F &&body) const {
    for (int64_t b = 0; b < s.batch; ++b)
      for (int64_t h = 0; h < s.heads; ++h)
        for (int64_t i = 0; i < s.queries; ++i)
          body(b, h, i);
  }
  double &lse(int64_t b, int64_t h, int64_t i) const {
    return x.lse[static_cast<size_t>((b * s.heads + h) * s.queries + i)];
  }
  /// -inf for keys that the query does not attend to.
  Array scores(int64_t b, int64_t h, int64_t i) const {
    const double *q = row(x.q, b, h, i, s.queries, s.depth);
    Array scores(static_cast<size_t>(s.keys), -INFINITY);
    const int64_t seen = s.causal ? std::min(i + 1, s.keys) : s.keys;
    for (int64_t j = 0; j < seen; ++j)
      scores[j] =
          s.scale * dot(q, row(x.k, b, h, j, s.keys, s.depth), s.depth) +
          (s.hasMask() ? added(b, h, i, j) : 0);
    return scores;
  }

  /// Softmax of the scores, and their log-sum-exp; zeros and inf if the query
  /// attends to no key.
  std::pair<Array, double> weights(int64_t b, int64_t h, int64_t i) const {
    Array p = scores(b, h, i);
    const double max = p.empty() ? -INFINITY : *std::ranges::max_element(p);
    if (max == -INFINITY)
      return {Array(p.size(), 0), INFINITY};
    double sum = 0;
    for (double &score : p)
      sum += score = std::exp(score - max);
    for (double &weight : p)
      weight /= sum;
    return {p, max + std::log(sum)};
  }

  void forward(int64_t b, int64_t h, int64_t i) const {
    const auto [p, sum] = weights(b, h, i);
    lse(b, h, i) = sum;
    double *y = row(x.y, b, h, i, s.queries, s.valueDepth);
    for (int64_t j = 0; j < s.keys; ++j)
      add(y, p[j], row(x.v, b, h, j, s.keys, s.valueDepth), s.valueDepth);
  }
  void backward(int64_t b, int64_t h, int64_t i) const {
    const Array p = weights(b, h, i).first;
    const double *q = row(x.q, b, h, i, s.queries, s.depth),
                 *y = row(x.y, b, h, i, s.queries, s.valueDepth),
                 *dy = row(x.dy, b, h, i, s.queries, s.valueDepth);
    double *dq = row(x.dq, b, h, i, s.queries, s.depth);
    const double delta = dot(dy, y, s.valueDepth);
    for (int64_t j = 0; j < s.keys; ++j) {
      const double *v = row(x.v, b, h, j, s.keys, s.valueDepth);
      const double ds = s.scale * p[j] * (dot(dy, v, s.valueDepth) - delta);
      add(dq, ds, row(x.k, b, h, j, s.keys, s.depth), s.depth);
      add(row(x.dk, b, h, j, s.keys, s.depth), ds, q, s.depth);
      add(row(x.dv, b, h, j, s.keys, s.valueDepth), p[j], dy, s.valueDepth);
    }
  }

  const AttentionShape &s;
  AttentionValues &x;
};

} // namespace

void attentionForward(const AttentionShape &shape, AttentionValues &values) {
  Loops(shape, values).forward();
}
void attentionBackward(const AttentionShape &shape, AttentionValues &values) {
  Loops(shape, values).backward();
}

} // namespace dlc::test
