// SPDX-License-Identifier: Apache-2.0
// Graphs of norms and their gradients. Only for Cudnn.cpp.
#pragma once

#include "runtime/device/commands/Norm.h"
#include "runtime/device/cuda/cudnn/CudnnFrontend.h"

namespace dlc {

class NormBuilder final : public GraphBuilder {
public:
  NormBuilder(const CommandSpec &spec, const Norm &norm)
      : GraphBuilder(spec, typeOf(spec.inputs[norm.isBackward])), norm_(norm) {}

  Status build() override {
    if (norm_.isBackward)
      buildBackward();
    else
      buildForward();
    return {};
  }

private:
  Tensor like(const char *name, const Sizes &dims, const Operand &operand) {
    return tensor(name, operand, dims, Norm::strides(dims));
  }
  Tensor image(const char *name, size_t input) {
    return like(name, norm_.dims(), spec_.inputs[input]);
  }
  Tensor parameter(const char *name, size_t input) {
    return like(name, norm_.parameters(), spec_.inputs[input]);
  }
  Tensor statistic(const char *name, size_t input) {
    return like(name, norm_.statistics(), spec_.inputs[input]);
  }
  void out(const Tensor &t, size_t result, const Sizes &dims) {
    output(t, result, dims, Norm::strides(dims));
  }
  Tensor pointwise(fe::PointwiseMode_t mode, const Tensor &a) {
    return graph.pointwise(a, fe::graph::Pointwise_attributes().set_mode(mode));
  }
  Tensor pointwise(fe::PointwiseMode_t mode, const Tensor &a, const Tensor &b) {
    return graph.pointwise(a, b,
                           fe::graph::Pointwise_attributes().set_mode(mode));
  }

  void buildForward() {
    const Tensor x = image("x", 0), scale = parameter("scale", 1),
                 bias = parameter("bias", 2);
    Tensor epsilon = graph.tensor(static_cast<float>(norm_.epsilon));
    Tensor y, mean, rstd;
    if (norm_.isLayer) {
      const auto results =
          graph.layernorm(x, scale, bias,
                          fe::graph::Layernorm_attributes()
                              .set_forward_phase(fe::NormFwdPhase_t::TRAINING)
                              .set_epsilon(epsilon));
      y = results[0], mean = results[1], rstd = results[2];
    } else {
      const auto results = graph.batchnorm(
          x, scale, bias,
          fe::graph::Batchnorm_attributes().set_epsilon(epsilon));
      y = results[0], mean = results[1], rstd = results[2];
    }
    if (norm_.hasResidual)
      y = pointwise(fe::PointwiseMode_t::ADD, y, image("residual", 3));
    if (norm_.relu)
      y = pointwise(fe::PointwiseMode_t::RELU_FWD, y);
    out(y, 0, norm_.dims());
    out(mean, 1, norm_.statistics());
    out(rstd, 2, norm_.statistics());
  }

  void buildBackward() {
    Tensor dy = image("dy", 0);
    const Tensor x = image("x", 1), scale = parameter("scale", 2),
                 mean = statistic("mean", 3), rstd = statistic("rstd", 4);
    if (norm_.relu) {
      const Tensor y = graph.batchnorm_inference(
          x, mean, rstd, scale, parameter("bias", 5),
          fe::graph::Batchnorm_inference_attributes());
      dy = pointwise(fe::PointwiseMode_t::RELU_BWD, dy, y);
      dy->set_data_type(x->get_data_type());
    }
    const auto results =
        norm_.isLayer ? graph.layernorm_backward(
                            dy, x, scale,
                            fe::graph::Layernorm_backward_attributes()
                                .set_saved_mean_and_inv_variance(mean, rstd))
                      : graph.batchnorm_backward(
                            dy, x, scale,
                            fe::graph::Batchnorm_backward_attributes()
                                .set_saved_mean_and_inv_variance(mean, rstd));
    out(results[0], 0, norm_.dims());
    out(results[1], 1, norm_.parameters());
    out(results[2], 2, norm_.parameters());
  }

  const Norm norm_;
};

inline MakeBuilder normBuilder(const Norm &norm) {
  return [=](const CommandSpec &spec) {
    return std::make_unique<NormBuilder>(spec, norm);
  };
}

} // namespace dlc
