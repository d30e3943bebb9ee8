// SPDX-License-Identifier: Apache-2.0
// attention and attention_backward by own loops: the same bits for any number
// of threads.
#include "runtime/device/commands/Attention.h"
#include "runtime/device/cpu/Dispatch.h"
#include "runtime/device/cpu/Kinds.h"
#include "runtime/device/cpu/kernels/AttentionLoops.h"

namespace dlc {
namespace {

constexpr int64_t kLine = 16; // floats of a cache line

// Where the heads are, and each thread's memory.
class Heads {
public:
  Heads(CpuDevice &device, const Attention &a, const CommandSpec &spec)
      : device_(device),
        a_(a), geometry_{a.queries,
                         a.keys,
                         a.depth,
                         a.valueDepth,
                         a.lengthFirst ? a.heads * a.depth : a.depth,
                         a.lengthFirst ? a.heads * a.valueDepth : a.valueDepth,
                         static_cast<float>(a.scale),
                         a.causal},
        floats_((a.isBackward ? attentionBackwardFloats
                              : attentionFloats)(geometry_) +
                kLine) {
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

  // The first element of a head's rows of a tensor.
  template <class T>
  T *at(T *tensor, int64_t head, int64_t length, int64_t width) const {
    const auto strides = a_.strides(length, width);
    return tensor + head / a_.heads * strides[0] + head % a_.heads * strides[1];
  }
  AttentionMask mask(int64_t head) const {
    if (!data_)
      return {};
    return {data_ + head / a_.heads * ofMask_[0] + head % a_.heads * ofMask_[1],
            ofMask_[2], ofMask_[3]};
  }

  const Threads &threads() const { return device_.threads(); }

private:
  CpuDevice &device_;
  const Attention a_;
  const AttentionGeometry geometry_;
  const int64_t floats_; // of a thread
  const float *data_ = nullptr;
  int64_t ofMask_[4] = {};
};

template <class T> class AttentionForward final : public Command {
public:
  AttentionForward(Heads heads, const CommandSpec &spec)
      : heads_(std::move(heads)), q_(as<const T>(spec.inputs[0])),
        k_(as<const T>(spec.inputs[1])), v_(as<const T>(spec.inputs[2])),
        y_(as<T>(spec.outputs[0])), lse_(as<float>(spec.outputs[1])) {}

  Status enqueue() override {
    const AttentionGeometry &g = heads_.geometry();
    if (heads_.count() == 0 || g.queries == 0)
      return {};
    const int64_t blocks = (g.queries + kAttentionRows - 1) / kAttentionRows,
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
  // Work that threads share when there are few heads.
  static constexpr int64_t kRangesOfThread = 4;

  void run(int part, int64_t head, int64_t first, int64_t last) const {
    const AttentionGeometry &g = heads_.geometry();
    attention(g, heads_.mask(head), heads_.at(q_, head, g.queries, g.depth),
              heads_.at(k_, head, g.keys, g.depth),
              heads_.at(v_, head, g.keys, g.valueDepth),
              heads_.at(y_, head, g.queries, g.valueDepth),
              lse_ + head * g.queries, first * kAttentionRows,
              std::min(last * kAttentionRows, g.queries), heads_.memory(part));
  }

  const Heads heads_;
  const T *q_, *k_, *v_;
  T *y_;
  float *lse_;
};

template <class T> class AttentionGradient final : public Command {
public:
  AttentionGradient(Heads heads, const CommandSpec &spec)
      : heads_(std::move(heads)), dy_(as<const T>(spec.inputs[0])),
        q_(as<const T>(spec.inputs[1])), k_(as<const T>(spec.inputs[2])),
        v_(as<const T>(spec.inputs[3])), y_(as<const T>(spec.inputs[4])),
        lse_(as<const float>(spec.inputs[5])), dq_(as<T>(spec.outputs[0])),
        dk_(as<T>(spec.outputs[1])), dv_(as<T>(spec.outputs[2])) {}

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
    const auto q = [&](auto *x) {
      return heads_.at(x, head, g.queries, g.depth);
    };
    const auto k = [&](auto *x) { return heads_.at(x, head, g.keys, g.depth); };
    const auto v = [&](auto *x) {
      return heads_.at(x, head, g.keys, g.valueDepth);
    };
    const auto y = [&](auto *x) {
      return heads_.at(x, head, g.queries, g.valueDepth);
    };
    attentionBackward(g, heads_.mask(head), y(dy_), q(q_), k(k_), v(v_), y(y_),
                      lse_ + head * g.queries, q(dq_), k(dk_), v(dv_),
                      heads_.memory(part));
  }

  const Heads heads_;
  const T *dy_, *q_, *k_, *v_, *y_;
  const float *lse_;
  T *dq_, *dk_, *dv_;
};

// q, k, v, y and their gradients are of one type, the mask is f32.
Status expectTypes(const CommandSpec &spec, const Attention &a) {
  const plan::DType type = typeOf(spec.inputs[0]);
  for (size_t i = 0; i < (a.isBackward ? 5u : 3u); ++i)
    DLC_TRY(expectType(spec, spec.inputs[i], {type}, "an operand"));
  for (size_t i = 0; i < (a.isBackward ? 3u : 1u); ++i)
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
  Heads heads(device, a, spec);
  DLC_TRY(heads.reserve());
  const auto make = [&]<class T>(T) -> std::unique_ptr<Command> {
    if (a.isBackward)
      return std::make_unique<AttentionGradient<T>>(std::move(heads), spec);
    return std::make_unique<AttentionForward<T>>(std::move(heads), spec);
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

constexpr Kind kAttentionKinds[] = {{"attention", bindAttention},
                                    {"attention_backward", bindAttention}};

} // namespace

std::span<const Kind> attentionKinds() { return kAttentionKinds; }

} // namespace dlc
