// SPDX-License-Identifier: Apache-2.0
// batch_norm, fused_batch_norm and their gradients by dlc's own loops: results
// do not depend on the number of threads, and unbiased running variance and f64
// are supported. On 64x28x28x16 f32, one thread of a Zen 4 takes 119 us forward
// and 189 backward: 81 and 85 GB/s, counting 2 reads + 1 write and 4 + 1;
// oneDNN 3.2 reaches 62-84 and 88 with two threads.
#include "runtime/base/numbers/Sliding.h"
#include "runtime/device/commands/Norm.h"
#include "runtime/device/cpu/Dispatch.h"
#include "runtime/device/cpu/Kinds.h"
#include "runtime/device/cpu/kernels/BatchNormLoops.h"
#include "runtime/plan/Attributes.h"

#include <cmath>

namespace dlc {
namespace {

constexpr int64_t kBatchNormGrain = 8 << 10; // elements worth a thread
constexpr int64_t kVectorLanes = 64; // lanes that keep vector units busy
constexpr int64_t kVector = 32;      // lanes of the longest vector
constexpr int64_t kManyLanes = 512;  // that may end in part of a vector
constexpr int64_t kChunkElements =
    1024; // per channel, summed in the precision of the computation
constexpr int64_t kChunks = 32; // at least, for threads to share

Result<NormGeometry> geometryOf(const CommandSpec &spec, const Operand &x,
                                const std::string &layout) {
  const Shape shape = shapeOf(x);
  if (!ImageDims::knows(layout))
    return incompatible(
        spec, fmt::format("layout is '{}', expected nchw or nhwc", layout));
  if (shape.size() < 2)
    return incompatible(
        spec, fmt::format("x has rank {}, expected at least 2", shape.size()));
  const ImageDims dims(static_cast<int64_t>(shape.size()), layout);
  int64_t spatial = 1;
  for (int64_t i = 0; i < dims.count(); ++i)
    spatial *= shape[static_cast<size_t>(dims.spatial() + i)];
  const int64_t channels = shape[static_cast<size_t>(dims.channel())];
  if (shape[0] * spatial == 0)
    return corrupt(spec, "the batch is empty");
  NormGeometry g{shape[0], channels, spatial, channels, 0, 0};
  if (dims.channelsLast || spatial == 1) {
    g.rows *= spatial, g.inner = 1;
    const auto wants = [](int64_t lanes) { // a second pixel in a row
      return 2 * lanes <= (lanes % kVector ? kManyLanes : kVectorLanes);
    };
    while (wants(g.lanes) && g.rows % 2 == 0)
      g.lanes *= 2, g.rows /= 2;
  }
  g.chunkRows = std::max<int64_t>(
      1, std::min(kChunkElements / g.inner, g.rows / kChunks));
  g.chunks = (g.rows + g.chunkRows - 1) / g.chunkRows;
  return g;
}

// Members of both directions: x's geometry, and workspace for sums and factors.
template <class T> class Norm : public Command {
protected:
  using C = Compute<T>;
  Norm(CpuDevice &device, const NormGeometry &geometry)
      : device_(device), g_(geometry) {}

  static uint64_t workspaceBytes(const NormGeometry &g) {
    return 2 * g.lanes * sizeof(double) +
           (g.chunks * 2 + 5) * g.lanes * sizeof(C);
  }
  // Sum `which` of each lane over all chunks.
  double *laneSums(int which) const {
    return reinterpret_cast<double *>(device_.workspace().data()) +
           which * g_.lanes;
  }
  C *sums() const { return reinterpret_cast<C *>(laneSums(2)); }
  C *factor(int i) const { return sums() + (g_.chunks * 2 + i) * g_.lanes; }
  NormFactors<T> factors(bool masks = false) const {
    return {factor(0), factor(1), factor(2), factor(3),
            masks ? factor(4) : nullptr};
  }
  double count() const {
    return static_cast<double>(g_.rows * g_.inner * (g_.lanes / g_.channels));
  }

  double total(int which, int64_t channel) const {
    double sum = 0;
    for (int64_t lane = channel; lane < g_.lanes; lane += g_.channels)
      sum += laneSums(which)[lane];
    return sum;
  }
  void setFactor(int i, int64_t channel, double value) const {
    for (int64_t lane = channel; lane < g_.lanes; lane += g_.channels)
      factor(i)[lane] = static_cast<C>(value);
  }

  template <class F> void forChunks(F &&fn) const {
    forRange(g_.chunks, g_.chunkRows * g_.lanes * g_.inner, fn);
  }
  template <class F> void forChannels(F &&fn) const {
    forRange(g_.channels, g_.chunks * 2 * (g_.lanes / g_.channels),
             [&](int64_t begin, int64_t end) {
               addChunks(begin, end);
               for (int64_t c = begin; c < end; ++c)
                 fn(c);
             });
  }
  template <class F> void forRows(F &&fn) const {
    forRange(g_.rows, g_.lanes * g_.inner, fn);
  }

  CpuDevice &device_;
  const NormGeometry g_;

private:
  // For channels [begin, end), in the order of chunks: additions of one lane
  // depend on each other, those of several do not.
  void addChunks(int64_t begin, int64_t end) const {
    for (int which = 0; which < 2; ++which)
      for (int64_t first = 0; first < g_.lanes; first += g_.channels) {
        double *const to = laneSums(which) + first;
        std::fill(to + begin, to + end, 0);
        for (int64_t chunk = 0; chunk < g_.chunks; ++chunk) {
          const C *const from = sums() + (chunk * 2 + which) * g_.lanes + first;
#pragma omp simd
          for (int64_t c = begin; c < end; ++c)
            to[c] += from[c];
        }
      }
  }

  template <class F> void forRange(int64_t extent, int64_t work, F &&fn) const {
    device_.threads().parallelFor(extent, 1 + kBatchNormGrain / (work + 1), fn);
  }
};

// batch_norm, which updates running statistics and saves mean and variance; or
// fused_batch_norm, which saves mean and 1 / s, s^2 = variance + epsilon.
template <class T> class BatchNorm final : public Norm<T> {
  using Base = Norm<T>;
  using C = Compute<T>;

public:
  struct Operands {
    const T *x;
    const C *scale, *bias;
    const C *mean = nullptr, *var = nullptr; // running
    NormTail<T> tail;
    T *y;
    C *newMean = nullptr, *newVar = nullptr; // null: not updated
    C *savedMean, *saved;                    // the variance, or 1 / s
  };

  static Result<std::unique_ptr<Command>> create(CpuDevice &device,
                                                 const CommandSpec &spec,
                                                 const NormGeometry &g,
                                                 const Operands &operands) {
    DLC_TRY(device.workspace().reserve(Base::workspaceBytes(g)));
    return std::unique_ptr<Command>(new BatchNorm(device, spec, g, operands));
  }

  Status enqueue() override {
    this->forChunks([&](int64_t begin, int64_t end) {
      normSums(this->g_, o_.x, this->sums(), begin, end);
    });
    this->forChannels([&](int64_t c) { finish(c); });
    this->forRows([&](int64_t begin, int64_t end) {
      normApply(this->g_, o_.x, this->factors(), o_.tail, o_.y, begin, end);
    });
    return {};
  }

private:
  BatchNorm(CpuDevice &device, const CommandSpec &spec, const NormGeometry &g,
            const Operands &operands)
      : Base(device, g), o_(operands),
        epsilon_(plan::floatAttribute(spec.command, "epsilon", 1e-5)),
        momentum_(plan::floatAttribute(spec.command, "momentum", 0.9)),
        unbiased_(plan::intAttribute(spec.command, "unbiased", 0)) {}

  // Computes the statistics of channel c from its sums of x - pivot and (x -
  // pivot)^2; each lane has its own pivot.
  void finish(int64_t c) {
    const NormGeometry &g = this->g_;
    const double lanes = static_cast<double>(g.lanes / g.channels),
                 count = this->count(), each = count / lanes;
    double mean = 0, squares = 0;
    for (int64_t lane = c; lane < g.lanes; lane += g.channels)
      mean += load(o_.x[lane * g.inner]) + this->laneSums(0)[lane] / each;
    mean /= lanes;
    for (int64_t lane = c; lane < g.lanes; lane += g.channels) {
      const double sum = this->laneSums(0)[lane],
                   shift = load(o_.x[lane * g.inner]) + sum / each - mean;
      squares +=
          this->laneSums(1)[lane] - sum * sum / each + each * shift * shift;
    }
    double var = squares / count;
    var = var < 0 ? 0 : var; // NaN is preserved
    double reciprocal = 1 / std::sqrt(var + epsilon_);
    if (o_.newMean) {
      move(c, mean, var);
      o_.saved[c] = static_cast<C>(var);
    } else {
      o_.saved[c] = static_cast<C>(reciprocal);
      reciprocal = o_.saved[c]; // for the gradient's mask
    }
    o_.savedMean[c] = static_cast<C>(mean);
    this->setFactor(0, c, mean);
    this->setFactor(1, c, o_.scale[c] * reciprocal);
    this->setFactor(2, c, o_.bias[c]);
  }

  void move(int64_t c, double mean, double var) {
    const double count = this->count(), oldMean = o_.mean[c],
                 oldVar = o_.var[c];
    const double running =
        unbiased_ && count > 1 ? var * count / (count - 1) : var;
    o_.newMean[c] =
        static_cast<C>(oldMean * momentum_ + mean * (1 - momentum_));
    o_.newVar[c] =
        static_cast<C>(oldVar * momentum_ + running * (1 - momentum_));
  }

  const Operands o_;
  double epsilon_, momentum_;
  bool unbiased_;
};

// dx = scale / s (dy - mean(dy) - (x - mean) / s^2 mean(dy (x - mean))), with
// s^2 = var + epsilon; dy is masked by the ReLU after the norm, if there is one
template <class T> class BatchNormBackward final : public Norm<T> {
  using Base = Norm<T>;
  using C = Compute<T>;

public:
  struct Operands {
    const T *dy, *x;
    const C *scale, *mean;
    const C *var = nullptr, *rstd = nullptr; // one is set
    const C *bias = nullptr;                 // of the norm, for the mask
    T *dx;
    C *dscale, *dbias;
  };

  static Result<std::unique_ptr<Command>> create(CpuDevice &device,
                                                 const CommandSpec &spec,
                                                 const NormGeometry &g,
                                                 const Operands &operands) {
    DLC_TRY(device.workspace().reserve(Base::workspaceBytes(g)));
    return std::unique_ptr<Command>(
        new BatchNormBackward(device, spec, g, operands));
  }

  Status enqueue() override {
    for (int64_t c = 0; c < this->g_.channels; ++c) {
      this->setFactor(0, c, o_.mean[c]);
      this->setFactor(1, c, o_.scale[c] * reciprocal(c));
      if (o_.bias)
        this->setFactor(4, c, o_.bias[c]);
    }
    const NormFactors<T> factors = this->factors(o_.bias);
    this->forChunks([&](int64_t begin, int64_t end) {
      normBackwardSums(this->g_, o_.dy, o_.x, factors, this->sums(), begin,
                       end);
    });
    this->forChannels([&](int64_t c) { finish(c); });
    this->forRows([&](int64_t begin, int64_t end) {
      normBackwardApply(this->g_, o_.dy, o_.x, factors, o_.dx, begin, end);
    });
    return {};
  }

private:
  BatchNormBackward(CpuDevice &device, const CommandSpec &spec,
                    const NormGeometry &g, const Operands &operands)
      : Base(device, g), o_(operands),
        epsilon_(plan::floatAttribute(spec.command, "epsilon", 1e-5)) {}

  double reciprocal(int64_t c) const {
    return o_.rstd ? o_.rstd[c] : 1 / std::sqrt(o_.var[c] + epsilon_);
  }

  void finish(int64_t c) {
    const double sum = this->total(0, c), products = this->total(1, c),
                 count = this->count();
    const double r = reciprocal(c), a = o_.scale[c] * r;
    o_.dbias[c] = static_cast<C>(sum);
    o_.dscale[c] = static_cast<C>(products * r);
    this->setFactor(2, c, -a * r * r * products / count);
    this->setFactor(3, c, -a * sum / count);
  }

  const Operands o_;
  double epsilon_;
};

// Statistics, scale and bias are f32, or f64 if x is.
Status expectNorm(const CommandSpec &spec, const Operand &x,
                  std::initializer_list<Operand> images,
                  std::initializer_list<Operand> perChannel, int64_t channels) {
  for (const Operand &image : images) {
    DLC_TRY(expectType(spec, image, {typeOf(x)}, "an image"));
    DLC_TRY(expectShape(spec, image, shapeOf(x), "an image"));
  }
  for (const Operand &operand : perChannel) {
    DLC_TRY(expectType(spec, operand,
                       {typeOf(x) == plan::F64 ? plan::F64 : plan::F32},
                       "a value per channel"));
    DLC_TRY(expectShape(spec, operand, {channels}, "a value per channel"));
  }
  return {};
}

std::string layoutOf(const CommandSpec &spec) {
  return plan::stringAttribute(spec.command, "layout", "nchw");
}

Result<std::unique_ptr<Command>> bindBatchNorm(CpuDevice &device,
                                               const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 5, 5));
  const auto &in = spec.inputs, &out = spec.outputs;
  DLC_TRY(expectFloats(spec));
  DLC_ASSIGN(const NormGeometry g, geometryOf(spec, in[0], layoutOf(spec)));
  DLC_TRY(
      expectNorm(spec, in[0], {out[0]},
                 {in[1], in[2], in[3], in[4], out[1], out[2], out[3], out[4]},
                 g.channels));
  return dispatchFloat(typeOf(in[0]), [&]<class T>(T) {
    using C = Compute<T>;
    return BatchNorm<T>::create(device, spec, g,
                                {.x = as<const T>(in[0]),
                                 .scale = as<const C>(in[1]),
                                 .bias = as<const C>(in[2]),
                                 .mean = as<const C>(in[3]),
                                 .var = as<const C>(in[4]),
                                 .tail = {},
                                 .y = as<T>(out[0]),
                                 .newMean = as<C>(out[1]),
                                 .newVar = as<C>(out[2]),
                                 .savedMean = as<C>(out[3]),
                                 .saved = as<C>(out[4])});
  });
}

Result<std::unique_ptr<Command>>
bindBatchNormBackward(CpuDevice &device, const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 5, 3));
  const auto &in = spec.inputs, &out = spec.outputs;
  DLC_TRY(expectFloats(spec));
  DLC_ASSIGN(const NormGeometry g, geometryOf(spec, in[1], layoutOf(spec)));
  DLC_TRY(expectNorm(spec, in[1], {in[0], out[0]},
                     {in[2], in[3], in[4], out[1], out[2]}, g.channels));
  return dispatchFloat(typeOf(in[1]), [&]<class T>(T) {
    using C = Compute<T>;
    return BatchNormBackward<T>::create(device, spec, g,
                                        {.dy = as<const T>(in[0]),
                                         .x = as<const T>(in[1]),
                                         .scale = as<const C>(in[2]),
                                         .mean = as<const C>(in[3]),
                                         .var = as<const C>(in[4]),
                                         .dx = as<T>(out[0]),
                                         .dscale = as<C>(out[1]),
                                         .dbias = as<C>(out[2])});
  });
}

Result<std::unique_ptr<Command>> bindFused(CpuDevice &device,
                                           const CommandSpec &spec) {
  DLC_ASSIGN(const dlc::Norm norm, normOf(spec));
  const auto &in = spec.inputs, &out = spec.outputs;
  DLC_ASSIGN(const NormGeometry g,
             geometryOf(spec, in[norm.isBackward], "nhwc"));
  return dispatchFloat(
      typeOf(in[0]), [&]<class T>(T) -> Result<std::unique_ptr<Command>> {
        using C = Compute<T>;
        if (norm.isBackward)
          return BatchNormBackward<T>::create(
              device, spec, g,
              {.dy = as<const T>(in[0]),
               .x = as<const T>(in[1]),
               .scale = as<const C>(in[2]),
               .mean = as<const C>(in[3]),
               .rstd = as<const C>(in[4]),
               .bias = norm.relu ? as<const C>(in[5]) : nullptr,
               .dx = as<T>(out[0]),
               .dscale = as<C>(out[1]),
               .dbias = as<C>(out[2])});
        return BatchNorm<T>::create(
            device, spec, g,
            {.x = as<const T>(in[0]),
             .scale = as<const C>(in[1]),
             .bias = as<const C>(in[2]),
             .tail = {norm.hasResidual ? as<const T>(in[3]) : nullptr,
                      norm.relu},
             .y = as<T>(out[0]),
             .savedMean = as<C>(out[1]),
             .saved = as<C>(out[2])});
      });
}

constexpr Kind kBatchNormKinds[] = {
    {"batch_norm", bindBatchNorm},
    {"batch_norm_backward", bindBatchNormBackward},
    {"fused_batch_norm", bindFused},
    {"fused_batch_norm_backward", bindFused}};

} // namespace

std::span<const Kind> batchNormKinds() { return kBatchNormKinds; }

} // namespace dlc
