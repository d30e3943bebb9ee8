// SPDX-License-Identifier: Apache-2.0
// Graphs of attention and its gradient. For Cudnn.cpp alone.
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
  Tensor rows(const char *name, const Operand &operand, int64_t length,
              int64_t depth) {
    return tensor(name, operand, a_.dims(length, depth),
                  a_.strides(length, depth));
  }
  void rowsOut(const Tensor &t, const Operand &operand, int64_t length,
               int64_t depth) {
    output(t, operand, a_.dims(length, depth), a_.strides(length, depth));
  }
  static Sizes packed(const Sizes &d) {
    return {d[1] * d[2] * d[3], d[2] * d[3], d[3], 1};
  }
  Sizes statistics() const { return {a_.batch, a_.heads, a_.queries, 1}; }

  // What both directions are told alike.
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
    const Tensor q = rows("q", spec_.inputs[0], a_.queries, a_.depth),
                 k = rows("k", spec_.inputs[1], a_.keys, a_.depth),
                 v = rows("v", spec_.inputs[2], a_.keys, a_.valueDepth);
    auto options = attributes<fe::graph::SDPA_attributes>();
    options.set_name("attention").set_generate_stats(true);
    const auto [y, lse] = graph.sdpa(q, k, v, options);
    rowsOut(y, spec_.outputs[0], a_.queries, a_.valueDepth);
    output(lse, spec_.outputs[1], statistics(), packed(statistics()));
  }
  void buildBackward() {
    const Tensor dy = rows("dy", spec_.inputs[0], a_.queries, a_.valueDepth),
                 q = rows("q", spec_.inputs[1], a_.queries, a_.depth),
                 k = rows("k", spec_.inputs[2], a_.keys, a_.depth),
                 v = rows("v", spec_.inputs[3], a_.keys, a_.valueDepth),
                 y = rows("y", spec_.inputs[4], a_.queries, a_.valueDepth),
                 lse = tensor("lse", spec_.inputs[5], statistics(),
                              packed(statistics()));
    auto options = attributes<fe::graph::SDPA_backward_attributes>();
    options.set_name("attention_backward")
        .set_deterministic_algorithm(deterministic_);
    const auto [dq, dk, dv] = graph.sdpa_backward(q, k, v, y, dy, lse, options);
    rowsOut(dq, spec_.outputs[0], a_.queries, a_.depth);
    rowsOut(dk, spec_.outputs[1], a_.keys, a_.depth);
    rowsOut(dv, spec_.outputs[2], a_.keys, a_.valueDepth);
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
