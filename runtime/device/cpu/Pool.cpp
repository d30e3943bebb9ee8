// SPDX-License-Identifier: Apache-2.0
// max_pool, avg_pool and their gradients by dlc's own loops, because the index
// of the maximum is defined by the program.
#include "runtime/device/cpu/Dispatch.h"
#include "runtime/device/cpu/Kinds.h"
#include "runtime/device/cpu/kernels/PoolLoops.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

constexpr int64_t kPoolGrain = 8 << 10; // elements read worth a thread

// Splits `rows` so that each part has at least kPoolGrain elements of `work`.
int64_t grainOf(int64_t rows, int64_t work) {
  return rows ? std::max<int64_t>(1, kPoolGrain * rows /
                                         std::max<int64_t>(work, 1))
              : 1;
}

struct Pool {
  PoolGeometry geometry;
  int64_t taps; // elements read by all windows
};

// `x` and `y` are the images before and after pooling, or their gradients.
Result<Pool> poolOf(const CommandSpec &spec, const Operand &x,
                    const Operand &y) {
  DLC_ASSIGN(const Image in, imageOf(spec, x, "x"));
  DLC_ASSIGN(const Image out, imageOf(spec, y, "y"));
  const auto kernel = plan::intsAttribute(spec.command, "kernel");
  if (kernel.size() != in.dims || out.dims != in.dims)
    return corrupt(spec,
                   fmt::format("x, kernel and y have {}, {} and {} dimensions",
                               in.dims, kernel.size(), out.dims));
  DLC_ASSIGN(const Window window, windowOf(spec, kernel));
  bool fits = in.n == out.n && in.c == out.c;
  for (size_t d = 0; d < kSpatial; ++d) {
    const Sliding &along = window.along[d];
    fits = fits && (out.size[d] == 0 ||
                    (out.size[d] - 1) * along.stride - along.low < in.size[d]);
  }
  if (!fits)
    return corrupt(
        spec, fmt::format("{} images of {}x{} do not pool into {} of {}x{}",
                          in.n, in.c, fmt::join(in.sizes(), "x"), out.n, out.c,
                          fmt::join(out.sizes(), "x")));
  const bool lanes = in.channelsLast;
  const bool countPad =
      plan::intAttribute(spec.command, "count_include_pad", 0);
  return Pool{{lanes ? in.n : in.n * in.c, lanes ? in.c : 1, in.size, out.size,
               window, countPad},
              elements(y) * window.taps()};
}

// Scratch of each thread, in the workspace.
int64_t scratchStride(const PoolGeometry &g) {
  return (g.scratchBytes() + 63) / 64 * 64;
}
Status reserveScratch(CpuDevice &device, const PoolGeometry &g) {
  return device.workspace().reserve(device.threads().count() *
                                    scratchStride(g));
}
void *scratchOf(CpuDevice &device, const PoolGeometry &g, int part) {
  return device.workspace().data() + part * scratchStride(g);
}

template <class F> class Rows final : public Command {
public:
  Rows(const Threads &threads, int64_t rows, int64_t work, F loop)
      : threads_(threads), rows_(rows), grain_(grainOf(rows, work)),
        loop_(std::move(loop)) {}
  Status enqueue() override {
    threads_.parallelParts(rows_, grain_, loop_);
    return {};
  }

private:
  const Threads &threads_;
  int64_t rows_, grain_;
  F loop_; // (part, begin, end)
};

// A command that computes rows by loop(scratch, begin, end).
template <class F>
Result<std::unique_ptr<Command>> makeRows(CpuDevice &device, const Pool &pool,
                                          int64_t rows, F loop) {
  const PoolGeometry g = pool.geometry;
  DLC_TRY(reserveScratch(device, g));
  auto loopOfPart = [=, &device](int part, int64_t begin, int64_t end) {
    loop(scratchOf(device, g, part), begin, end);
  };
  return std::make_unique<Rows<decltype(loopOfPart)>>(
      device.threads(), rows, pool.taps, std::move(loopOfPart));
}

Result<std::unique_ptr<Command>> bindMaxPool(CpuDevice &device,
                                             const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 1, 2));
  const Operand &x = spec.inputs[0], &y = spec.outputs[0],
                &index = spec.outputs[1];
  DLC_TRY(expectFloats(spec, {x, y}));
  DLC_TRY(expectType(spec, y, {typeOf(x)}, "y"));
  DLC_TRY(expectType(spec, index, {plan::U8}, "index"));
  DLC_TRY(expectShape(spec, index, shapeOf(y), "index"));
  DLC_ASSIGN(const Pool pool, poolOf(spec, x, y));
  const PoolGeometry g = pool.geometry;
  if (g.window.taps() > 255)
    return incompatible(
        spec, fmt::format("the kernel has {} positions, expected 255 or less",
                          g.window.taps()));
  return dispatchFloat(typeOf(x), [&]<class T>(T) {
    return makeRows(device, pool, g.planes * g.outRows(),
                    [=](void *scratch, int64_t begin, int64_t end) {
                      maxPoolRows(g, as<const T>(x), as<T>(y),
                                  as<uint8_t>(index), scratch, begin, end);
                    });
  });
}

Result<std::unique_ptr<Command>> bindMaxPoolBackward(CpuDevice &device,
                                                     const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 2, 1));
  const Operand &dy = spec.inputs[0], &index = spec.inputs[1],
                &dx = spec.outputs[0];
  DLC_TRY(expectFloats(spec, {dy, dx}));
  DLC_TRY(expectType(spec, dx, {typeOf(dy)}, "dx"));
  DLC_TRY(expectType(spec, index, {plan::U8}, "index"));
  DLC_TRY(expectShape(spec, index, shapeOf(dy), "index"));
  DLC_ASSIGN(const Pool pool, poolOf(spec, dx, dy));
  const PoolGeometry g = pool.geometry;
  return dispatchFloat(typeOf(dy), [&]<class T>(T) {
    return makeRows(device, pool, g.planes * g.inRows(),
                    [=](void *scratch, int64_t begin, int64_t end) {
                      maxPoolBackwardRows(g, as<const T>(dy),
                                          as<const uint8_t>(index), as<T>(dx),
                                          scratch, begin, end);
                    });
  });
}

Result<std::unique_ptr<Command>> bindAvgPool(CpuDevice &device,
                                             const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 1, 1));
  const Operand &x = spec.inputs[0], &y = spec.outputs[0];
  DLC_TRY(expectFloats(spec, {x, y}));
  DLC_TRY(expectType(spec, y, {typeOf(x)}, "y"));
  DLC_ASSIGN(const Pool pool, poolOf(spec, x, y));
  const PoolGeometry g = pool.geometry;
  return dispatchFloat(typeOf(x), [&]<class T>(T) {
    return makeRows(device, pool, g.planes * g.outRows(),
                    [=](void *scratch, int64_t begin, int64_t end) {
                      avgPoolRows(g, as<const T>(x), as<T>(y), scratch, begin,
                                  end);
                    });
  });
}

Result<std::unique_ptr<Command>> bindAvgPoolBackward(CpuDevice &device,
                                                     const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 1, 1));
  const Operand &dy = spec.inputs[0], &dx = spec.outputs[0];
  DLC_TRY(expectFloats(spec, {dy, dx}));
  DLC_TRY(expectType(spec, dx, {typeOf(dy)}, "dx"));
  DLC_ASSIGN(const Pool pool, poolOf(spec, dx, dy));
  const PoolGeometry g = pool.geometry;
  return dispatchFloat(typeOf(dy), [&]<class T>(T) {
    return makeRows(device, pool, g.planes * g.inRows(),
                    [=](void *scratch, int64_t begin, int64_t end) {
                      avgPoolBackwardRows(g, as<const T>(dy), as<T>(dx),
                                          scratch, begin, end);
                    });
  });
}

constexpr Kind kPoolKinds[] = {{"max_pool", bindMaxPool},
                               {"max_pool_backward", bindMaxPoolBackward},
                               {"avg_pool", bindAvgPool},
                               {"avg_pool_backward", bindAvgPoolBackward}};

} // namespace

std::span<const Kind> poolKinds() { return kPoolKinds; }

} // namespace dlc
