// SPDX-License-Identifier: Apache-2.0
// Peak rates of GPUs: the one table that placement, `dlc inspect --costs` and
// the benchmarks use.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dlc {

/// From NVIDIA's data sheets; products are dense, 16-bit types are bf16 or
/// fp16.
struct GpuFigures {
  std::string_view name; // "H100"
  int sm;                // compute capability: 90
  double bandwidth;      // bytes a second
  double half, single;   // FLOPs a second
  int64_t processors;    // multiprocessors
};

/// By SM; the first GPU of an SM represents it.
std::span<const GpuFigures> allGpuFigures();

/// Those of that SM, else of the next older one, else of the oldest known.
const GpuFigures &gpuFigures(int sm);
/// Null if there is no such name.
const GpuFigures *findGpu(std::string_view name);

/// Efficiencies, as measured on an H200 but the last one: share of the
/// bandwidth reached by streaming kernels; share of the tensor cores' peak
/// reached by libraries on large products, on those with epilogues, on
/// ResNet-50's convolutions, and on attention of 1024 rows of 64; by generated
/// attention; and, assumed, by generated products, whose mma.sync is slower
/// than the library's warpgroup instructions and whose pipeline is two tiles
/// deep.
constexpr double kOfBandwidth = 0.85, kOfPeakLibrary = 0.72,
                 kOfPeakEpilogue = 0.53, kOfPeakConvolution = 0.4,
                 kOfPeakAttention = 0.25, kOfPeakGeneratedAttention = 0.12,
                 kOfPeakGenerated = 0.25;

} // namespace dlc
