// SPDX-License-Identifier: Apache-2.0
// Graphs of attention and its gradient. Only for Cudnn.cpp.
#pragma once

#include "runtime/device/commands/Attention.h"
#include "runtime/device/cuda/cudnn/CudnnFrontend.h"

namespace dlc {

class AttentionBuilder final : public GraphBuilder {
public:
  AttentionBuilder(const CommandSpec &spec, const Attention &attention,
                   bool deterministic)
      : GraphBuilder(spec, typeOf(spec.inputs[0])), a_(attention),
        deterministic_(deterministic) {}

  Status build() override {
    if (a_.isBackward)
      buildBackward();
    else
      buildForward();
    return {};
  }

private:
  Tensor part(const char *name, Attention::Part part) {
    return tensor(name, spec_.inputs[a_.input(part)],
                  a_.dims(a_.length(part), a_.width(part)), a_.strides(part),
                  a_.offset(part));
  }
  void partOut(const Tensor &t, Attention::Part part) {
    output(t, a_.output(part), a_.dims(a_.length(part), a_.width(part)),
           a_.strides(part), a_.offset(part));
  }
  Sizes dimsOfY() const { return a_.dims(a_.queries, a_.valueDepth); }
  Sizes stridesOfY() const { return a_.strides(a_.queries, a_.valueDepth); }
  Tensor likeY(const char *name, size_t input) {
    return tensor(name, spec_.inputs[input], dimsOfY(), stridesOfY());
  }
  static Sizes packed(const Sizes &d) {
    return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1};
  }
  Sizes statistics() const { return {a_.batch, a_.heads, a_.queries, 1}; }

  // Attributes that both directions share.
  template <class Attributes> Attributes attributes() {
    Attributes attributes;
    attributes.set_attn_scale(static_cast<float>(a_.scale));
    if (a_.causal)
      attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
          .set_diagonal_band_right_bound(0);
    if (a_.hasMask) {
      const Sizes dims = shapeOf(spec_.inputs.back());
      attributes.set_bias(
          tensor("mask", spec_.inputs.back(), dims, packed(dims)));
    }
    return attributes;
  }

  void buildForward() {
    const Tensor q = part("q", Attention::kQ), k = part("k", Attention::kK),
                 v = part("v", Attention::kV);
    auto options = attributes<fe::graph::SDPA_attributes>();
    options.set_name("attention").set_generate_stats(true);
    const auto [y, lse] = graph.sdpa(q, k, v, options);
    output(y, 0, dimsOfY(), stridesOfY());
    output(lse, 1, statistics(), packed(statistics()));
  }
  void buildBackward() {
    const Tensor dy = likeY("dy", 0), q = part("q", Attention::kQ),
                 k = part("k", Attention::kK), v = part("v", Attention::kV),
                 y = likeY("y", a_.inputY()),
                 lse = tensor("lse", spec_.inputs[a_.inputY() + 1],
                              statistics(), packed(statistics()));
    auto options = attributes<fe::graph::SDPA_backward_attributes>();
    options.set_name("attention_backward")
        .set_deterministic_algorithm(deterministic_);
    const auto [dq, dk, dv] = graph.sdpa_backward(q, k, v, y, dy, lse, options);
    partOut(dq, Attention::kQ);
    partOut(dk, Attention::kK);
    partOut(dv, Attention::kV);
  }

  const Attention a_;
  const bool deterministic_;
};

inline MakeBuilder attentionBuilder(const Attention &attention,
                                    bool deterministic) {
  return [=](const CommandSpec &spec) {
    return std::make_unique<AttentionBuilder>(spec, attention, deterministic);
  };
}

} // namespace dlc
