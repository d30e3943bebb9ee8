// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/narrow/NarrowConv.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cpu/Dispatch.h"
#include "runtime/device/cpu/Onednn.h"
#include "runtime/device/cpu/narrow/NarrowLoops.h"

#include <cmath>

namespace dlc {
namespace {

NarrowShape narrowOf(const Conv &c, bool isData) {
  const Sliding &rows = c.window.along[1], &columns = c.window.along[2];
  const Image &source = isData ? c.y : c.x, &result = isData ? c.x : c.y;
  const auto low = [&](const Sliding &along) {
    return isData ? along.low : along.kernel - 1 - along.low;
  };
  return {source.n,       source.size[1], source.size[2], source.c,
          result.size[1], result.size[2], result.c,       rows.kernel,
          columns.kernel, low(rows),      low(columns)};
}

// The filter as [kernel rows, depth, kernel columns, channels], with taps in
// reverse order for a forward convolution.
template <class T>
void packFilter(const Conv &c, bool isData, int64_t ofDepth, const T *from,
                float *to) {
  const NarrowShape n = narrowOf(c, isData);
  const int64_t taps = n.kernelRows * n.kernelColumns, ofOutput = taps * c.x.c,
                ofInput = c.filtersLast ? 1 : taps,
                ofTap = c.filtersLast ? c.x.c : 1;
  for (int64_t ky = 0; ky < n.kernelRows; ++ky)
    for (int64_t k = 0; k < n.depth; ++k, to += ofDepth)
      for (int64_t kx = 0; kx < n.kernelColumns; ++kx)
        for (int64_t ch = 0; ch < n.channels; ++ch) {
          const int64_t number = ky * n.kernelColumns + kx,
                        tap = isData ? number : taps - 1 - number,
                        o = isData ? k : ch, i = isData ? ch : k;
          to[kx * n.channels + ch] =
              load(from[o * ofOutput + i * ofInput + tap * ofTap]);
        }
}

template <class T> class NarrowCommand final : public Command {
public:
  NarrowCommand(CpuDevice &device, const CommandSpec &spec, const Conv &conv,
                bool isData)
      : device_(device), conv_(conv), isData_(isData),
        narrow_(narrowOf(conv, isData)), plan_(loops_.plan(narrow_)),
        source_(as<const T>(spec.inputs[0])),
        filter_(as<const T>(spec.inputs[1])),
        bias_(spec.inputs.size() > 2 ? as<const T>(spec.inputs[2]) : nullptr),
        result_(as<T>(spec.outputs[0])) {}

  Status reserve() {
    return device_.workspace().reserve(
        sizeof(float) *
        (plan_.filterFloats + device_.threads().count() * threadFloats()));
  }
  Status enqueue() override {
    auto *const filter = reinterpret_cast<float *>(device_.workspace().data());
    std::fill_n(filter, plan_.filterFloats, 0.f);
    packFilter(conv_, isData_, plan_.vectors * loops_.lanes, filter_, filter);
    device_.threads().parallelParts(
        narrow_.images * narrow_.outRows, grain(),
        [&](int part, int64_t begin, int64_t end) {
          loops_.run(narrow_, plan_, source_, filter, bias_, result_,
                     filter + plan_.filterFloats + part * threadFloats(), begin,
                     end);
        });
    return {};
  }

private:
  int64_t threadFloats() const {
    return plan_.sourceFloats + 2 * plan_.rowFloats;
  }
  /// Rows that are worth a thread.
  int64_t grain() const {
    constexpr int64_t kProducts = 1 << 16;
    return std::max<int64_t>(
        1, kProducts / (narrow_.kernelRows * narrow_.depth * narrow_.columns *
                        plan_.vectors * loops_.lanes));
  }

  CpuDevice &device_;
  const NarrowLoops<T> &loops_ = narrowLoops<T>();
  Conv conv_;
  bool isData_;
  NarrowShape narrow_;
  NarrowPlan plan_;
  const T *source_, *filter_, *bias_;
  T *result_;
};

} // namespace

// How much more of a vector these loops must use than oneDNN to be faster.
static double leastGain(plan::DType type) {
  if (type != plan::BF16 || !onednnHasBf16())
    return 1.5;
  return onednnHasAmx() ? INFINITY : 2.4;
}

bool areNarrowLoopsFaster(const CommandSpec &spec, const Conv &c, bool isData) {
  const plan::DType type = typeOf(spec.inputs[0]);
  const auto isOther = [=](const Operand &x) { return typeOf(x) != type; };
  const Sliding &depth = c.window.along[0], &rows = c.window.along[1],
                &columns = c.window.along[2];
  const auto isDense = [](const Sliding &s) {
    return s.stride == 1 && s.dilation == 1;
  };
  if (std::ranges::any_of(spec.inputs, isOther) ||
      typeOf(spec.outputs[0]) != type || !c.x.channelsLast || c.group != 1 ||
      type == plan::F64 || !isDense(rows) || !isDense(columns) ||
      depth.kernel != 1 || c.x.size[0] != 1 || c.y.size[0] != 1 ||
      rows.kernel > kMostTapRows)
    return false;
  const NarrowShape n = narrowOf(c, isData);
  if (n.lowRow < 0 || n.lowColumn < 0 || n.columns == 0 || n.outRows == 0 ||
      n.outColumns == 0 || n.depth == 0)
    return false;
  const int64_t lanes = narrowLoops<float>().lanes,
                window = n.kernelColumns * n.channels;
  const auto used = [&](int64_t channels) {
    return double(channels) / double((channels + lanes - 1) / lanes * lanes);
  };
  return n.channels < lanes &&
         used(window) >= leastGain(type) * used(n.channels);
}

Result<std::unique_ptr<Command>> bindNarrow(CpuDevice &device,
                                            const CommandSpec &spec,
                                            const Conv &conv, bool isData) {
  const auto make = [&]<class T>(T) -> Result<std::unique_ptr<Command>> {
    if constexpr (std::is_same_v<T, double>) {
      return corrupt(spec, "has no loops for f64");
    } else {
      auto command =
          std::make_unique<NarrowCommand<T>>(device, spec, conv, isData);
      DLC_TRY(command->reserve());
      return command;
    }
  };
  return dispatchFloat(typeOf(spec.inputs[0]), make);
}

} // namespace dlc
