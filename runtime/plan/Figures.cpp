// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/Figures.h"

#include <algorithm>

namespace dlc {

constexpr GpuFigures kGpus[] = {
    {"A100", 80, 2.04e12, 312e12, 19.5e12, 108, 32e9},
    {"A40", 86, 0.696e12, 149.7e12, 37.4e12, 84, 32e9},
    {"L40S", 89, 0.864e12, 362e12, 91.6e12, 142, 32e9},
    {"H100", 90, 3.35e12, 989e12, 67e12, 132, 64e9},
    {"H200", 90, 4.8e12, 989e12, 67e12, 132, 64e9},
    {"B200", 100, 8e12, 2250e12, 80e12, 148, 64e9},
};

std::span<const GpuFigures> allGpuFigures() { return kGpus; }

const GpuFigures &gpuFigures(int sm) {
  const GpuFigures *best = kGpus;
  for (const GpuFigures &gpu : kGpus)
    if (gpu.sm <= sm && gpu.sm > best->sm)
      best = &gpu;
  return *best;
}

const GpuFigures *findGpu(std::string_view name) {
  const auto *gpu =
      std::find_if(std::begin(kGpus), std::end(kGpus),
                   [&](const GpuFigures &g) { return g.name == name; });
  return gpu == std::end(kGpus) ? nullptr : gpu;
}

/// Of a library's call in 16 bits.
static double ofPeak(std::string_view kind) {
  return kind.starts_with("conv")        ? kOfPeakConvolution
         : kind.starts_with("attention") ? kOfPeakAttention
         : kind.starts_with("matmul_")   ? kOfPeakEpilogue
                                         : kOfPeakLibrary;
}

double secondsOf(const GpuFigures &gpu, const CommandWork &work) {
  double rate = gpu.single * kOfPeakLibrary;
  if (work.tensorCores)
    rate = gpu.half * kOfPeakGenerated;
  else if (work.kind == "scaled_matmul") // 8 bits: twice the speed of 16
    rate = 2 * gpu.half * kOfPeakLibrary;
  else if (!work.kind.empty() && work.half)
    rate = gpu.half * ofPeak(work.kind);
  return std::max(work.bytes / (gpu.bandwidth * kOfBandwidth),
                  work.flops / rate);
}

double copySeconds(const GpuFigures &gpu, double bytes) {
  return kCopyStart + bytes / (gpu.link * kOfLink);
}

} // namespace dlc
