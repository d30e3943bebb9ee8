// SPDX-License-Identifier: Apache-2.0
// attention and attention_backward by dlc's own loops; results do not depend on
// the number of threads.
#include "runtime/device/commands/Attention.h"
#include "runtime/device/cpu/Dispatch.h"
#include "runtime/device/cpu/Kinds.h"
#include "runtime/device/cpu/kernels/AttentionLoops.h"

namespace dlc {
namespace {

constexpr int64_t kLine = 16; // floats per cache line

// Addresses of heads, and the scratch of each thread.
class Heads {
public:
  using Floats = int64_t(const AttentionGeometry &);
  Heads(CpuDevice &device, const Attention &a, const CommandSpec &spec,
        Floats *floats)
      : device_(device), a_(a), geometry_{a.queries,
                                          a.keys,
                                          a.depth,
                                          a.valueDepth,
                                          a.strides(Attention::kQ)[2],
                                          a.strides(Attention::kV)[2],
                                          a.strides(a.queries, a.valueDepth)[2],
                                          static_cast<float>(a.scale),
                                          a.causal},
        floats_(floats(geometry_) + kLine) {
    if (!a.hasMask)
      return;
    const Operand &mask = spec.inputs.back();
    data_ = as<const float>(mask);
    int64_t stride = 1;
    for (size_t i = 4; i-- > 0;) {
      const int64_t size = shapeOf(mask)[i];
      ofMask_[i] = size == 1 ? 0 : stride;
      stride *= size;
    }
  }

  const AttentionGeometry &geometry() const { return geometry_; }
  int64_t count() const { return a_.batch * a_.heads; }

  Status reserve() {
    return device_.workspace().reserve(
        static_cast<uint64_t>(device_.threads().count() * floats_) *
        sizeof(float));
  }
  float *memory(int part) const {
    return reinterpret_cast<float *>(device_.workspace().data()) +
           part * floats_ / kLine * kLine;
  }

  // Address of a head's first row in q, k, v or a gradient; in y.
  template <class T>
  T *at(T *tensor, int64_t head, Attention::Part part) const {
    return of(tensor + a_.offset(part), head, a_.strides(part));
  }
  template <class T> T *ofY(T *tensor, int64_t head) const {
    return of(tensor, head, a_.strides(a_.queries, a_.valueDepth));
  }
  AttentionMask mask(int64_t head) const {
    if (!data_)
      return {};
    return {data_ + head / a_.heads * ofMask_[0] + head % a_.heads * ofMask_[1],
            ofMask_[2], ofMask_[3]};
  }

  const Threads &threads() const { return device_.threads(); }

private:
  template <class T>
  T *of(T *tensor, int64_t head, const std::vector<int64_t> &strides) const {
    return tensor + head / a_.heads * strides[0] + head % a_.heads * strides[1];
  }

  CpuDevice &device_;
  const Attention a_;
  const AttentionGeometry geometry_;
  const int64_t floats_; // per thread
  const float *data_ = nullptr;
  int64_t ofMask_[4] = {};
};

template <class T> class AttentionForward final : public Command {
public:
  AttentionForward(Heads heads, const Attention &a, const CommandSpec &spec)
      : heads_(std::move(heads)),
        q_(as<const T>(spec.inputs[a.input(Attention::kQ)])),
        k_(as<const T>(spec.inputs[a.input(Attention::kK)])),
        v_(as<const T>(spec.inputs[a.input(Attention::kV)])),
        y_(as<T>(spec.outputs[0])), lse_(as<float>(spec.outputs[1])) {}

  Status enqueue() override {
    const AttentionGeometry &g = heads_.geometry();
    if (heads_.count() == 0 || g.queries == 0)
      return {};
    const int64_t blocks = (g.queries - 1) / loops_.rows + 1,
                  ranges = std::clamp<int64_t>(kRangesOfThread *
                                                   heads_.threads().count() /
                                                   heads_.count(),
                                               1, blocks);
    heads_.threads().parallelParts(
        heads_.count() * ranges, 1, [&](int part, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            run(part, i / ranges, blocks * (i % ranges) / ranges,
                blocks * (i % ranges + 1) / ranges);
        });
    return {};
  }

private:
  // Ranges per thread if there are few heads.
  static constexpr int64_t kRangesOfThread = 4;

  void run(int part, int64_t head, int64_t first, int64_t last) const {
    const AttentionGeometry &g = heads_.geometry();
    loops_.forward(
        g, heads_.mask(head), heads_.at(q_, head, Attention::kQ),
        heads_.at(k_, head, Attention::kK), heads_.at(v_, head, Attention::kV),
        heads_.ofY(y_, head), lse_ + head * g.queries, first * loops_.rows,
        std::min(last * loops_.rows, g.queries), heads_.memory(part));
  }

  const AttentionLoops<T> &loops_ = attentionLoops<T>();
  const Heads heads_;
  const T *q_, *k_, *v_;
  T *y_;
  float *lse_;
};

template <class T> class AttentionGradient final : public Command {
public:
  AttentionGradient(Heads heads, const Attention &a, const CommandSpec &spec)
      : heads_(std::move(heads)), dy_(as<const T>(spec.inputs[0])),
        q_(as<const T>(spec.inputs[a.input(Attention::kQ)])),
        k_(as<const T>(spec.inputs[a.input(Attention::kK)])),
        v_(as<const T>(spec.inputs[a.input(Attention::kV)])),
        y_(as<const T>(spec.inputs[a.inputY()])),
        lse_(as<const float>(spec.inputs[a.inputY() + 1])),
        dq_(as<T>(spec.outputs[a.output(Attention::kQ)])),
        dk_(as<T>(spec.outputs[a.output(Attention::kK)])),
        dv_(as<T>(spec.outputs[a.output(Attention::kV)])) {}

  Status enqueue() override {
    heads_.threads().parallelParts(
        heads_.count(), 1, [&](int part, int64_t begin, int64_t end) {
          for (int64_t head = begin; head < end; ++head)
            run(part, head);
        });
    return {};
  }

private:
  void run(int part, int64_t head) const {
    const AttentionGeometry &g = heads_.geometry();
    const auto at = [&](auto *x, Attention::Part part) {
      return heads_.at(x, head, part);
    };
    loops_.backward(
        g, heads_.mask(head), heads_.ofY(dy_, head), at(q_, Attention::kQ),
        at(k_, Attention::kK), at(v_, Attention::kV), heads_.ofY(y_, head),
        lse_ + head * g.queries, at(dq_, Attention::kQ), at(dk_, Attention::kK),
        at(dv_, Attention::kV), heads_.memory(part));
  }

  const AttentionLoops<T> &loops_ = attentionLoops<T>();
  const Heads heads_;
  const T *dy_, *q_, *k_, *v_, *y_;
  const float *lse_;
  T *dq_, *dk_, *dv_;
};

// q, k, v, y and their gradients have one type, the mask is f32.
Status expectTypes(const CommandSpec &spec, const Attention &a) {
  const plan::DType type = typeOf(spec.inputs[0]);
  for (size_t i = 0; i < a.halves(); ++i)
    DLC_TRY(expectType(spec, spec.inputs[i], {type}, "an operand"));
  for (size_t i = 0; i < a.halvesOut(); ++i)
    DLC_TRY(expectType(spec, spec.outputs[i], {type}, "a result"));
  DLC_TRY(expectType(spec, spec.inputs[0], {plan::F32, plan::F16, plan::BF16},
                     "an operand"));
  return a.hasMask ? expectType(spec, spec.inputs.back(), {plan::F32}, "mask")
                   : Status();
}

Result<std::unique_ptr<Command>> bindAttention(CpuDevice &device,
                                               const CommandSpec &spec) {
  DLC_ASSIGN(const Attention a, attentionOf(spec));
  DLC_TRY(expectTypes(spec, a));
  const auto make = [&]<class T>(T) -> Result<std::unique_ptr<Command>> {
    const AttentionLoops<T> &loops = attentionLoops<T>();
    Heads heads(device, a, spec,
                a.isBackward ? loops.backwardFloats : loops.floats);
    DLC_TRY(heads.reserve());
    if (a.isBackward)
      return std::unique_ptr<Command>(
          new AttentionGradient<T>(std::move(heads), a, spec));
    return std::unique_ptr<Command>(
        new AttentionForward<T>(std::move(heads), a, spec));
  };
  switch (typeOf(spec.inputs[0])) {
  case plan::F16:
    return make(F16{});
  case plan::BF16:
    return make(Bf16{});
  default:
    return make(float{});
  }
}

constexpr Kind kAttentionKinds[] = {
    {"attention", bindAttention},
    {"attention_backward", bindAttention},
    {"attention_joint", bindAttention},
    {"attention_joint_backward", bindAttention}};

} // namespace

std::span<const Kind> attentionKinds() { return kAttentionKinds; }

} // namespace dlc
