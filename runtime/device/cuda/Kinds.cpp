// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/Kinds.h"

namespace dlc {

static constexpr std::span<const GpuKind> (*kFamilies[])() = {
    gpuAttentionKinds, gpuConvKinds,   gpuCopyKinds, gpuCustomKinds,
    gpuKernelKinds,    gpuMatmulKinds, gpuNormKinds, gpuOffloadKinds,
};

GpuFactory findGpuKind(std::string_view name) {
  for (auto family : kFamilies)
    for (const GpuKind &kind : family())
      if (kind.name == name)
        return kind.factory;
  return nullptr;
}

} // namespace dlc
