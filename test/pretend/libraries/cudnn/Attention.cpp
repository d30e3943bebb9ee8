// SPDX-License-Identifier: Apache-2.0
#include "test/pretend/libraries/cudnn/Attention.h"
#include "test/pretend/libraries/cudnn/Values.h"

#include <algorithm>
#include <cmath>

namespace dlc::standin {
namespace {

// A tensor read and written by [b, h, t, d] whatever its layout.
class Rows {
public:
  Rows(const Operand &operand, const std::vector<int64_t> &dims,
       const std::vector<int64_t> &strides, int64_t offset = 0)
      : operand_(operand), dims_(dims), strides_(strides), offset_(offset),
        values_(static_cast<size_t>(elements(operand)), 0.0) {}

  void load() { values_ = valuesOf(operand_); }
  void store() const { standin::store(operand_, values_); }
  // Rows of the same tensor, which are 0 where these are not.
  void add(const Rows &others) {
    for (size_t i = 0; i < values_.size(); ++i)
      values_[i] += others.values_[i];
  }
  // Dimensions of one number stretch.
  double &at(int64_t b, int64_t h, int64_t t, int64_t d) {
    const int64_t index[] = {b, h, t, d};
    int64_t flat = offset_;
    for (size_t i = 0; i < 4; ++i)
      flat += dims_[i] == 1 ? 0 : index[i] * strides_[i];
    return values_[static_cast<size_t>(flat)];
  }

private:
  Operand operand_;
  std::vector<int64_t> dims_, strides_;
  int64_t offset_; // elements
  std::vector<double> values_;
};

std::vector<int64_t> packed(const std::vector<int64_t> &d) {
  return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1};
}

class Runner {
public:
  Runner(const CommandSpec &spec, const Attention &a) : spec_(spec), a_(a) {}

  void run() {
    if (a_.hasMask) {
      const auto dims = shapeOf(spec_.inputs.back());
      mask_.emplace_back(spec_.inputs.back(), dims, packed(dims)).load();
    }
    a_.isBackward ? backward() : forward();
  }

private:
  Rows rows(const Operand &operand, int64_t length, int64_t width) const {
    return Rows(operand, a_.dims(length, width), a_.strides(length, width));
  }
  Rows likeY(size_t input) const {
    Rows x = rows(spec_.inputs[input], a_.queries, a_.valueDepth);
    x.load();
    return x;
  }
  Rows part(const Operand &operand, Attention::Part part) const {
    return Rows(operand, a_.dims(a_.length(part), a_.width(part)),
                a_.strides(part), a_.offset(part));
  }
  Rows in(Attention::Part part) const {
    Rows x = this->part(spec_.inputs[a_.input(part)], part);
    x.load();
    return x;
  }
  Rows out(Attention::Part part) const {
    return this->part(spec_.outputs[a_.output(part)], part);
  }
  Rows lse(const Operand &operand) const {
    const std::vector<int64_t> dims = {a_.batch, a_.heads, a_.queries, 1};
    return Rows(operand, dims, packed(dims));
  }
  double score(Rows &q, Rows &k, int64_t b, int64_t h, int64_t i, int64_t j) {
    if (a_.causal && j > i)
      return -INFINITY;
    double s = 0;
    for (int64_t d = 0; d < a_.depth; ++d)
      s += q.at(b, h, i, d) * k.at(b, h, j, d);
    return s * a_.scale + (a_.hasMask ? mask_[0].at(b, h, i, j) : 0);
  }
  template <class F> void forEachQuery(F &&body) const {
    for (int64_t b = 0; b < a_.batch; ++b)
      for (int64_t h = 0; h < a_.heads; ++h)
        for (int64_t i = 0; i < a_.queries; ++i)
          body(b, h, i);
  }

  void forward() {
    Rows q = in(Attention::kQ), k = in(Attention::kK), v = in(Attention::kV),
         y = rows(spec_.outputs[0], a_.queries, a_.valueDepth),
         sums = lse(spec_.outputs[1]);
    std::vector<double> p(static_cast<size_t>(a_.keys));
    forEachQuery([&](int64_t b, int64_t h, int64_t i) {
      for (int64_t j = 0; j < a_.keys; ++j)
        p[static_cast<size_t>(j)] = score(q, k, b, h, i, j);
      const double max = *std::max_element(p.begin(), p.end());
      double sum = 0;
      for (double &x : p)
        sum += x = std::exp(x - max);
      sums.at(b, h, i, 0) = max + std::log(sum);
      for (int64_t j = 0; j < a_.keys; ++j)
        for (int64_t d = 0; d < a_.valueDepth; ++d)
          y.at(b, h, i, d) +=
              p[static_cast<size_t>(j)] / sum * v.at(b, h, j, d);
    });
    y.store();
    sums.store();
  }

  void backward() {
    Rows dy = likeY(0), q = in(Attention::kQ), k = in(Attention::kK),
         v = in(Attention::kV), y = likeY(a_.inputY()),
         sums = lse(spec_.inputs[a_.inputY() + 1]), dq = out(Attention::kQ),
         dk = out(Attention::kK), dv = out(Attention::kV);
    sums.load();
    forEachQuery([&](int64_t b, int64_t h, int64_t i) {
      for (int64_t j = 0; j < a_.keys; ++j) {
        const double p =
            std::exp(score(q, k, b, h, i, j) - sums.at(b, h, i, 0));
        double ds = 0;
        for (int64_t d = 0; d < a_.valueDepth; ++d) {
          const double g = dy.at(b, h, i, d);
          ds += p * g * (v.at(b, h, j, d) - y.at(b, h, i, d));
          dv.at(b, h, j, d) += p * g;
        }
        for (int64_t d = 0; d < a_.depth; ++d) {
          dq.at(b, h, i, d) += a_.scale * ds * k.at(b, h, j, d);
          dk.at(b, h, j, d) += a_.scale * ds * q.at(b, h, i, d);
        }
      }
    });
    if (a_.isJoint) {
      dq.add(dk);
      dq.add(dv);
      dq.store();
      return;
    }
    dq.store();
    dk.store();
    dv.store();
  }

  const CommandSpec &spec_;
  const Attention a_;
  std::vector<Rows> mask_; // one, or none
};

} // namespace

Status runAttention(const CommandSpec &spec) {
  DLC_ASSIGN(const Attention attention, attentionOf(spec));
  Runner(spec, attention).run();
  return {};
}

} // namespace dlc::standin
