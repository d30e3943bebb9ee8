// SPDX-License-Identifier: Apache-2.0
// Library commands of the CPU device on the shapes of lenet, resnet and gpt.
// Rates: FLOP/s of what is computed, bytes/s of the tensors read and written
// once. On a shared machine read the minima: --benchmark_filter=... | grep _min
// (there the rates are those of the slowest repetition).
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/plan/Types.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>

namespace dlc {
namespace {

using Shape = std::vector<int64_t>;

int threads() {
  const char *count = std::getenv("DLC_BENCH_THREADS");
  return count ? std::atoi(count) : 2;
}

class Bench {
public:
  explicit Bench(const std::string &kind) {
    command_.set_kind(kind);
    command_.set_label("bench");
  }
  Bench &ints(const std::string &name, const Shape &values) {
    plan::Attribute &attribute = add(name);
    for (int64_t value : values)
      attribute.mutable_ints()->add_values(value);
    return *this;
  }
  Bench &text(const std::string &name, const std::string &value) {
    add(name).set_s(value);
    return *this;
  }
  Bench &integer(const std::string &name, int64_t value) {
    add(name).set_i(value);
    return *this;
  }
  Bench &input(plan::DType type, const Shape &shape) {
    return operand(type, shape, true);
  }
  Bench &output(plan::DType type, const Shape &shape) {
    return operand(type, shape, false);
  }

  // Runs it once an iteration; `flops` of one run, 0 to count bytes only.
  void run(benchmark::State &state, double flops = 0) {
    CommandSpec spec{command_, {}, {}};
    uint64_t bytes = 0;
    for (auto &[type, isInput] : types_) {
      const uint64_t size = plan::bytesOf(*type).value();
      auto memory = device_.allocate(size, "tensor");
      if (!memory)
        return state.SkipWithError(memory.status().message().c_str());
      fill(*type, *memory);
      (isInput ? spec.inputs : spec.outputs).push_back({*memory, type.get()});
      bytes += size;
    }
    auto bound = device_.bind(spec);
    if (!bound)
      return state.SkipWithError(bound.status().message().c_str());
    for (auto _ : state)
      if (!(*bound)->enqueue())
        state.SkipWithError("enqueue failed");
    const double times = static_cast<double>(state.iterations());
    state.counters["B/s"] = benchmark::Counter(
        times * static_cast<double>(bytes), benchmark::Counter::kIsRate);
    if (flops > 0)
      state.counters["FLOP/s"] =
          benchmark::Counter(times * flops, benchmark::Counter::kIsRate);
  }

private:
  plan::Attribute &add(const std::string &name) {
    plan::Attribute &attribute = *command_.add_attributes();
    attribute.set_name(name);
    return attribute;
  }
  Bench &operand(plan::DType type, const Shape &shape, bool isInput) {
    auto made = std::make_unique<plan::TensorType>();
    made->set_dtype(type);
    for (int64_t dim : shape)
      made->add_shape(dim);
    types_.emplace_back(std::move(made), isInput);
    return *this;
  }
  // Small numbers: no denormals, indices in range.
  static void fill(const plan::TensorType &type, std::byte *memory) {
    const int64_t count = static_cast<int64_t>(*checkedElements(type.shape()));
    for (int64_t i = 0; i < count; ++i) {
      const float value = static_cast<float>(i * 7919 % 251) / 64 + 0.25f;
      if (type.dtype() == plan::F32)
        reinterpret_cast<float *>(memory)[i] = value;
      else if (type.dtype() == plan::BF16)
        reinterpret_cast<uint16_t *>(memory)[i] = toBf16(value);
      else if (type.dtype() == plan::I64)
        reinterpret_cast<int64_t *>(memory)[i] = i * 7919 % 64;
      else
        reinterpret_cast<uint8_t *>(memory)[i] = static_cast<uint8_t>(i % 4);
    }
  }

  CpuDevice device_{threads()};
  plan::Command command_;
  std::vector<std::pair<std::unique_ptr<plan::TensorType>, bool>> types_;
};

// --- convolution ---

struct ConvShape {
  const char *name;
  int64_t n, c, o, size, k, stride, pad;

  bool fitsWinograd() const { return k == 3 && stride == 1 && c % 16 == 0; }
};

constexpr ConvShape kConvs[] = {
    {"lenet1", 64, 1, 6, 28, 5, 1, 2},
    {"lenet2", 64, 6, 16, 14, 5, 1, 0},
    {"resnet8", 64, 16, 16, 28, 3, 1, 1},
    {"first", 8, 3, 64, 224, 7, 2, 3},
    {"64@56", 8, 64, 64, 56, 3, 1, 1},
    {"1x1/2", 8, 64, 128, 56, 1, 2, 0},
    {"128@28", 8, 128, 128, 28, 3, 1, 1},
    {"256@14", 8, 256, 256, 14, 3, 1, 1},
    {"256@14/2", 8, 128, 256, 28, 3, 2, 1},
    {"512@7", 8, 512, 512, 7, 3, 1, 1},
};

void conv(benchmark::State &state, const ConvShape &s, const std::string &kind,
          const std::string &layout, plan::DType type, int64_t tile) {
  const int64_t out = (s.size + 2 * s.pad - s.k) / s.stride + 1;
  const auto image = [&](int64_t c, int64_t size) {
    return layout == "nhwc" ? Shape{s.n, size, size, c}
                            : Shape{s.n, c, size, size};
  };
  const Shape x = image(s.c, s.size), y = image(s.o, out);
  const Shape w{s.o, s.c, s.k, s.k};
  Bench bench(kind);
  bench.ints("pads", {s.pad, s.pad, s.pad, s.pad})
      .ints("strides", {s.stride, s.stride})
      .text("layout", layout);
  if (tile)
    bench.integer("winograd", tile);
  if (kind == "conv")
    bench.input(type, x).input(type, w).output(type, y);
  else if (kind == "conv_backward_data")
    bench.input(type, y).input(type, w).output(type, x);
  else
    bench.input(type, x).input(type, y).output(type, w);
  bench.run(state,
            2.0 * static_cast<double>(s.n * s.o * out * out * s.c * s.k * s.k));
}

// --- matrix product ---

struct ProductShape {
  const char *name;
  int64_t batch, m, n, k;
  bool transA, transB;
};

constexpr ProductShape kProducts[] = {
    {"mlp", 1, 64, 512, 784, false, false},
    {"mlp_dw", 1, 784, 512, 64, true, false},
    {"gpt", 1, 2048, 1152, 384, false, false},
    {"gpt_dx", 1, 2048, 384, 1152, false, true},
    {"heads", 48, 256, 256, 64, false, true},
    {"tiny", 1, 4, 10, 16, false, false},
};

void matmul(benchmark::State &state, const ProductShape &s, plan::DType type) {
  const auto matrix = [&](int64_t rows, int64_t columns) {
    return s.batch > 1 ? Shape{s.batch, rows, columns} : Shape{rows, columns};
  };
  Bench("matmul")
      .integer("trans_a", s.transA)
      .integer("trans_b", s.transB)
      .input(type, s.transA ? matrix(s.k, s.m) : matrix(s.m, s.k))
      .input(type, s.transB ? matrix(s.n, s.k) : matrix(s.k, s.n))
      .output(type, matrix(s.m, s.n))
      .run(state, 2.0 * static_cast<double>(s.batch * s.m * s.n * s.k));
}

// --- pooling and batch norm ---

struct ImageShape {
  const char *name;
  int64_t n, c, size, kernel, stride, pad;
};

constexpr ImageShape kImages[] = {
    {"lenet1", 64, 6, 28, 2, 2, 0},
    {"lenet2", 64, 16, 10, 2, 2, 0},
    {"resnet8", 64, 16, 28, 2, 2, 0},
    {"resnet", 8, 64, 112, 3, 2, 1},
};

void pool(benchmark::State &state, const ImageShape &s, const std::string &kind,
          const std::string &layout, plan::DType type) {
  const int64_t out = (s.size + 2 * s.pad - s.kernel) / s.stride + 1;
  const auto image = [&](int64_t size) {
    return layout == "nhwc" ? Shape{s.n, size, size, s.c}
                            : Shape{s.n, s.c, size, size};
  };
  Bench bench(kind);
  bench.ints("kernel", {s.kernel, s.kernel})
      .ints("pads", {s.pad, s.pad, s.pad, s.pad})
      .ints("strides", {s.stride, s.stride})
      .text("layout", layout);
  if (kind == "max_pool")
    bench.input(type, image(s.size))
        .output(type, image(out))
        .output(plan::U8, image(out));
  else if (kind == "max_pool_backward")
    bench.input(type, image(out))
        .input(plan::U8, image(out))
        .output(type, image(s.size));
  else if (kind == "avg_pool")
    bench.input(type, image(s.size)).output(type, image(out));
  else
    bench.input(type, image(out)).output(type, image(s.size));
  bench.run(state);
}

void batchNorm(benchmark::State &state, const ImageShape &s,
               const std::string &kind, const std::string &layout,
               plan::DType type) {
  const Shape x = layout == "nhwc" ? Shape{s.n, s.size, s.size, s.c}
                                   : Shape{s.n, s.c, s.size, s.size};
  Bench bench(kind);
  bench.text("layout", layout);
  const bool forward = kind == "batch_norm";
  bench.input(type, x);
  if (!forward)
    bench.input(type, x);
  for (int i = 0; i < (forward ? 4 : 3); ++i)
    bench.input(plan::F32, {s.c});
  bench.output(type, x);
  for (int i = 0; i < (forward ? 4 : 2); ++i)
    bench.output(plan::F32, {s.c});
  bench.run(state);
}

void lookup(benchmark::State &state, const std::string &kind) {
  Bench bench(kind);
  if (kind == "gather")
    bench.input(plan::F32, {96, 384})
        .input(plan::I64, {2048})
        .output(plan::F32, {2048, 384});
  else
    bench.input(plan::I64, {2048})
        .input(plan::F32, {2048, 384})
        .output(plan::F32, {96, 384});
  bench.run(state);
}

void registerAll() {
  const auto add = [](const std::string &name, auto run) {
    benchmark::RegisterBenchmark(name.c_str(), run)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond)
        ->MinTime(0.02)
        ->Repetitions(8)
        ->ReportAggregatesOnly()
        ->ComputeStatistics("min", [](const std::vector<double> &times) {
          return *std::min_element(times.begin(), times.end());
        });
  };
  for (auto [type, typeName] :
       {std::pair(plan::F32, "f32"), std::pair(plan::BF16, "bf16")}) {
    for (const char *layout : {"nchw", "nhwc"}) {
      const std::string suffix = fmt::format("/{}/{}", layout, typeName);
      for (const char *kind :
           {"conv", "conv_backward_data", "conv_backward_filter"})
        for (const ConvShape &s : kConvs)
          for (int64_t tile : {0, 2, 4})
            if (!tile || (suffix.starts_with("/nhwc") && s.fitsWinograd()))
              add(fmt::format("{}/{}{}{}", kind, s.name, suffix,
                              tile ? fmt::format("/winograd{}", tile) : ""),
                  [=, type = type](benchmark::State &state) {
                    conv(state, s, kind, layout, type, tile);
                  });
      for (const ImageShape &s : kImages) {
        for (const char *kind :
             {"max_pool", "max_pool_backward", "avg_pool", "avg_pool_backward"})
          add(fmt::format("{}/{}{}", kind, s.name, suffix),
              [=, type = type](benchmark::State &state) {
                pool(state, s, kind, layout, type);
              });
        for (const char *kind : {"batch_norm", "batch_norm_backward"})
          add(fmt::format("{}/{}{}", kind, s.name, suffix),
              [=, type = type](benchmark::State &state) {
                batchNorm(state, s, kind, layout, type);
              });
      }
    }
    for (const ProductShape &s : kProducts)
      add(fmt::format("matmul/{}/{}", s.name, typeName),
          [=, type = type](benchmark::State &state) {
            matmul(state, s, type);
          });
  }
  for (const char *kind : {"gather", "scatter_add"})
    add(kind, [=](benchmark::State &state) { lookup(state, kind); });
}

} // namespace
} // namespace dlc

int main(int argc, char **argv) {
  dlc::registerAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  benchmark::RunSpecifiedBenchmarks();
}
