// SPDX-License-Identifier: Apache-2.0
// Peak rates of GPUs, in one table for placement, `dlc inspect --costs` and the
// benchmarks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dlc {

/// From NVIDIA's data sheets; dense products; 16 bits: bf16 or fp16. `link`: a
/// direction of 16 lanes of PCIe, of which data sheets give both: 64 GB/s for
/// Gen4, 128 GB/s for Gen5.
struct GpuFigures {
  std::string_view name; // "H100"
  int sm;                // compute capability: 90
  double bandwidth;      // bytes per second
  double half, single;   // FLOP/s
  int64_t processors;    // multiprocessors
  double link;           // bytes per second to the host, and as many from it
};

/// By SM; the first GPU of an SM represents it.
std::span<const GpuFigures> allGpuFigures();

/// The GPU of that SM, else of the next older one, else of the oldest known.
const GpuFigures &gpuFigures(int sm);
/// Null if there is no such name.
const GpuFigures *findGpu(std::string_view name);

/// Efficiencies, measured on an H200 except for the last: share of the
/// bandwidth that streaming kernels reach; share of the tensor cores' peak that
/// libraries reach in large products, in products with epilogues, in
/// ResNet-50's convolutions, and in attention of 1024 rows of 64; that
/// generated attention reaches; and, assumed, that generated products reach,
/// whose mma.sync is slower than the library's warpgroup instructions and whose
/// pipeline has two stages.
constexpr double kOfBandwidth = 0.85, kOfPeakLibrary = 0.72,
                 kOfPeakEpilogue = 0.53, kOfPeakConvolution = 0.4,
                 kOfPeakAttention = 0.25, kOfPeakGeneratedAttention = 0.12,
                 kOfPeakGenerated = 0.25;

/// Assumed: share of the link's bandwidth that copies of pinned memory reach,
/// and seconds from the start of a copy to its first byte.
constexpr double kOfLink = 0.8, kCopyStart = 10e-6;

/// What a command does.
struct CommandWork {
  std::string_view kind;    // of a library's call; empty: a generated kernel
  bool tensorCores = false; // of a generated kernel
  bool half = false;        // the call reads 16-bit floats
  double flops = 0, bytes = 0;
};
/// The larger of bytes / bandwidth and FLOPs / peak, with efficiencies.
double secondsOf(const GpuFigures &gpu, const CommandWork &work);
/// Of a copy between the GPU's memory and pinned memory of the host.
double copySeconds(const GpuFigures &gpu, double bytes);

} // namespace dlc
