// SPDX-License-Identifier: Apache-2.0
// The kinds of commands that GPUs support: one table per family of ops;
// Kinds.cpp lists the families.
#pragma once

#include "runtime/device/commands/Checks.h"
#include "runtime/device/cuda/CudaDevice.h"

#include <span>

namespace dlc {

using GpuFactory = Result<std::unique_ptr<Command>> (*)(
    CudaDevice &device, const CommandSpec &spec);

struct GpuKind {
  std::string_view name; // mnemonic of the dlc op
  GpuFactory factory;
};

std::span<const GpuKind> gpuAttentionKinds();
std::span<const GpuKind> gpuConvKinds();
std::span<const GpuKind> gpuCopyKinds();
std::span<const GpuKind> gpuCustomKinds();
std::span<const GpuKind> gpuKernelKinds();
std::span<const GpuKind> gpuMatmulKinds();
std::span<const GpuKind> gpuNormKinds();
std::span<const GpuKind> gpuOffloadKinds();

// Fills all outputs with zeros: for commands whose sums have no terms, which
// libraries refuse.
std::unique_ptr<Command> bindZeros(CudaDevice &device, const CommandSpec &spec);

// Null if no family has that kind.
GpuFactory findGpuKind(std::string_view name);

} // namespace dlc
