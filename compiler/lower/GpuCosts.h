// Predicted times on a large GPU, in seconds: what decides whether a kernel is
// generated where a library call would do. The figures are an H100 SXM's.
#pragma once

#include "compiler/lower/Tiling.h"

namespace dlc::gpu {

/// Bytes and FLOPs a second, of NVIDIA's data sheet (dense bf16, f32), and the
/// share of the bandwidth that streaming kernels reach.
constexpr double kBandwidth = 3.35e12, kOfBandwidth = 0.85;
constexpr double kHalfPeak = 989e12, kSinglePeak = 67e12;
/// Shares of the tensor cores' peak: of cuBLASLt on large products, and assumed
/// for generated kernels, whose mma.sync reaches less than the library's
/// warpgroup instructions and whose pipeline is two tiles deep.
constexpr double kOfPeakLibrary = 0.75, kOfPeakGenerated = 0.25;
/// Assumed: from one kernel's start to the next one's in a graph; a tile's way
/// from memory to the tensor cores when nothing else is under way; bytes a
/// second between multiprocessors and the second-level cache.
constexpr double kLaunch = 2.5e-6, kTile = 0.6e-6, kCache = 3.8e12;
constexpr int64_t kProcessors = 132, kResidentBlocks = 4;

/// A kernel that streams `bytes`.
double streaming(double bytes);
/// A library's matmul.
double libraryProduct(const ProductShape &shape, double bytes);
/// What the elements of an operand cost that generated kernels load: bytes
/// that are read and operations, each time that the element is.
struct OperandCost {
  double bytes = 2, operations = 0;
};
double generatedProduct(const ProductShape &shape, double bytes,
                        OperandCost left, OperandCost right);

} // namespace dlc::gpu
