// SPDX-License-Identifier: Apache-2.0
#include "test/pretend/libraries/cudnn/Norm.h"
#include "test/pretend/libraries/cudnn/Values.h"

#include <algorithm>
#include <cmath>

namespace dlc::standin {
namespace {

using Values = std::vector<double>;

class NormRunner {
public:
  NormRunner(const CommandSpec &spec, const Norm &norm)
      : spec_(spec), norm_(norm), channels_(static_cast<size_t>(norm.c)),
        groups_(static_cast<size_t>(norm.isLayer ? norm.n : norm.c)) {}

  void run() { norm_.isBackward ? backward() : forward(); }

private:
  Values in(size_t i) const { return valuesOf(spec_.inputs[i]); }
  // Whose statistics element i shares: a row's, or a channel's.
  size_t group(size_t i) const {
    return norm_.isLayer ? i / channels_ : i % channels_;
  }
  size_t channel(size_t i) const { return i % channels_; }
  Values means(const Values &x) const {
    Values sums(groups_, 0.0);
    for (size_t i = 0; i < x.size(); ++i)
      sums[group(i)] += x[i];
    for (double &sum : sums)
      sum /= static_cast<double>(x.size() / groups_);
    return sums;
  }

  void forward() {
    const Values x = in(0), scale = in(1), bias = in(2), mean = means(x);
    Values y(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      y[i] = (x[i] - mean[group(i)]) * (x[i] - mean[group(i)]);
    Values rstd = means(y);
    for (double &value : rstd)
      value = 1 / std::sqrt(value + norm_.epsilon);
    for (size_t i = 0; i < x.size(); ++i)
      y[i] = (x[i] - mean[group(i)]) * rstd[group(i)] * scale[channel(i)] +
             bias[channel(i)];
    if (norm_.hasResidual) {
      const Values residual = in(3);
      for (size_t i = 0; i < y.size(); ++i)
        y[i] += residual[i];
    }
    if (norm_.relu)
      for (double &value : y)
        value = std::max(value, 0.0);
    store(spec_.outputs[0], y);
    store(spec_.outputs[1], mean);
    store(spec_.outputs[2], rstd);
  }

  void backward() {
    Values dy = in(0), dscale(channels_, 0.0), dbias(channels_, 0.0);
    const Values x = in(1), scale = in(2), mean = in(3), rstd = in(4);
    Values xhat(x.size()), g(x.size()), product(x.size()), dx(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      xhat[i] = (x[i] - mean[group(i)]) * rstd[group(i)];
    if (norm_.relu) {
      const Values bias = in(5);
      for (size_t i = 0; i < x.size(); ++i)
        if (!(xhat[i] * scale[channel(i)] + bias[channel(i)] > 0))
          dy[i] = 0;
    }
    for (size_t i = 0; i < x.size(); ++i) {
      dscale[channel(i)] += dy[i] * xhat[i];
      dbias[channel(i)] += dy[i];
      g[i] = dy[i] * scale[channel(i)];
      product[i] = g[i] * xhat[i];
    }
    const Values offset = means(g), slope = means(product);
    for (size_t i = 0; i < x.size(); ++i)
      dx[i] = rstd[group(i)] *
              (g[i] - offset[group(i)] - xhat[i] * slope[group(i)]);
    store(spec_.outputs[0], dx);
    store(spec_.outputs[1], dscale);
    store(spec_.outputs[2], dbias);
  }

  const CommandSpec &spec_;
  const Norm norm_;
  const size_t channels_, groups_;
};

Status expectApart(const CommandSpec &spec) {
  for (const Operand &y : spec.outputs)
    for (const Operand &x : spec.inputs)
      if (x.data < y.data + bytes(y) && y.data < x.data + bytes(x))
        return failed("{} works in place, which cuDNN's graphs may not",
                      describe(spec));
  return {};
}

} // namespace

Status runNorm(const CommandSpec &spec) {
  DLC_ASSIGN(const Norm norm, normOf(spec));
  DLC_TRY(expectApart(spec));
  NormRunner(spec, norm).run();
  return {};
}

} // namespace dlc::standin
