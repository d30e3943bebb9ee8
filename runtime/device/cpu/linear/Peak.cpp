// SPDX-License-Identifier: Apache-2.0
// Measures the CPU's peak rates (runtime/device/CpuFigures.h) by what commands
// use: oneDNN's products, and loops over arrays on the thread pool.
#include "runtime/base/process/Boundary.h"
#include "runtime/device/CpuFigures.h"
#include "runtime/device/TuneCache.h"
#include "runtime/device/cpu/Onednn.h"
#include "runtime/device/cpu/Simd.h"
#include "runtime/device/cpu/ThreadPool.h"

#include <chrono>
#include <functional>
#include <memory>

namespace dlc {
namespace {

using dnnl::memory;

// A product large enough for the peak, and arrays too large for caches.
constexpr int64_t kSide = 1536, kElements = 32 << 20;
// Measurements of each rate, some of which other programs may disturb.
constexpr int kLeastTimes = 5;
constexpr double kSeconds = 0.5;

double bestSeconds(const std::function<void()> &run) {
  using Clock = std::chrono::steady_clock;
  run();
  double best = 0, all = 0;
  for (int i = 0; i < kLeastTimes || all < kSeconds; ++i) {
    const auto begin = Clock::now();
    run();
    const double time =
        std::chrono::duration<double>(Clock::now() - begin).count();
    best = i ? std::min(best, time) : time;
    all += time;
  }
  return best;
}

// FLOP/s, 0 if the CPU does not support such products. Operands are zeros,
// which take as long as other numbers.
double rateOfProducts(memory::data_type type) {
  const dnnl::engine &engine = onednnEngine();
  const memory::desc matrix({kSide, kSide}, type, memory::format_tag::ab);
  // Packed like a command's weights: rows of kSide numbers map to few cache
  // sets, which makes the product up to two times slower.
  const memory::desc packed({kSide, kSide}, type, memory::format_tag::any);
  const dnnl::matmul::primitive_desc desc(engine, matrix, packed, matrix,
                                          dnnl::primitive_attr(),
                                          /*allow_empty=*/true);
  if (!desc)
    return 0;
  const dnnl::matmul product(desc);
  const auto zeros = [&](const memory::desc &of) {
    memory m(of, engine);
    std::memset(m.get_data_handle(), 0, of.get_size());
    return m;
  };
  const std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, zeros(matrix)},
      {DNNL_ARG_WEIGHTS, zeros(desc.weights_desc())},
      {DNNL_ARG_DST, zeros(matrix)}};
  dnnl::stream stream(engine);
  const double seconds = bestSeconds([&] {
    product.execute(stream, arguments);
    stream.wait();
  });
  return 2.0 * kSide * kSide * kSide / seconds;
}

DLC_MULTIVERSION void add(const float *a, const float *b, float *y,
                          int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    y[i] = a[i] + b[i];
}

// Bytes/s, counted as those of commands are: each read and each write once.
double rateOfBytes(const Threads &threads) {
  const auto array = [&] {
    // Initialised by the threads that will use it.
    auto data = std::make_unique_for_overwrite<float[]>(kElements);
    threads.parallelFor(kElements, 1, [&](int64_t begin, int64_t end) {
      std::fill(data.get() + begin, data.get() + end, 1.0f);
    });
    return data;
  };
  const auto a = array(), b = array(), y = array();
  const double seconds = bestSeconds([&] {
    threads.parallelFor(kElements, 1, [&](int64_t begin, int64_t end) {
      add(a.get() + begin, b.get() + begin, y.get() + begin, end - begin);
    });
  });
  return 3.0 * sizeof(float) * kElements / seconds;
}

} // namespace

Result<CpuFigures> measureCpu(int count) {
  const Threads threads(count);
  DLC_TRY(threads.check());
  return guarded("measuring the CPU", [&]() -> Result<CpuFigures> {
    threads.makeCurrent();
    CpuFigures figures;
    figures.threads = threads.count();
    figures.date = tuneDate();
    figures.single = rateOfProducts(memory::data_type::f32);
    figures.half = rateOfProducts(memory::data_type::bf16);
    figures.bandwidth = rateOfBytes(threads);
    return figures;
  });
}

} // namespace dlc
