// SPDX-License-Identifier: Apache-2.0
// What GPUs can do at most: the one table that placement, `dlc inspect --costs`
// and the benchmarks read.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dlc {

/// Of NVIDIA's data sheets; products are dense, halves bf16 or fp16.
struct GpuFigures {
  std::string_view name; // "H100"
  int sm;                // compute capability: 90
  double bandwidth;      // bytes a second
  double half, single;   // FLOPs a second
  int64_t processors;    // multiprocessors
};

/// By SM; of several with one SM the first stands for it.
std::span<const GpuFigures> allGpuFigures();

/// Those of that SM, or of the newest that is older; the oldest known, if none
/// is.
const GpuFigures &gpuFigures(int sm);
/// Null if there is no such name.
const GpuFigures *findGpu(std::string_view name);

/// Shares that are reached: of the bandwidth by streaming kernels, of the
/// tensor cores' peak by libraries on large products, and, assumed, by
/// generated kernels, whose mma.sync reaches less than the library's warpgroup
/// instructions and whose pipeline is two tiles deep.
constexpr double kOfBandwidth = 0.85, kOfPeakLibrary = 0.75,
                 kOfPeakGenerated = 0.25;

} // namespace dlc
