// SPDX-License-Identifier: Apache-2.0
// The kinds of commands that the CPU supports: one table per family of ops;
// Kinds.cpp lists the families.
#pragma once

#include "runtime/device/commands/Checks.h"
#include "runtime/device/cpu/CpuDevice.h"

#include <span>

namespace dlc {

using Factory = Result<std::unique_ptr<Command>> (*)(CpuDevice &device,
                                                     const CommandSpec &spec);

struct Kind {
  std::string_view name; // mnemonic of the dlc op
  Factory factory;
};

std::span<const Kind> attentionKinds();
std::span<const Kind> batchNormKinds();
std::span<const Kind> convKinds();
std::span<const Kind> copyKinds();
std::span<const Kind> customKinds();
std::span<const Kind> flatKinds();
std::span<const Kind> gatherKinds();
std::span<const Kind> groupedMatmulKinds();
std::span<const Kind> kernelKinds();
std::span<const Kind> matmulKinds();
std::span<const Kind> orthogonalizeKinds();
std::span<const Kind> poolKinds();

// Null if neither a family nor `added` has that kind.
Factory findKind(std::string_view name, std::span<const Kind> added);

} // namespace dlc
