#include "runtime/device/cpu/Kinds.h"

namespace dlc {

static constexpr std::span<const Kind> (*kFamilies[])() = {
    batchNormKinds, convKinds,   copyKinds,           flatKinds, gatherKinds,
    kernelKinds,    matmulKinds, matmulEpilogueKinds, poolKinds,
};

Factory findKind(std::string_view name) {
  for (auto family : kFamilies)
    for (const Kind &kind : family())
      if (kind.name == name)
        return kind.factory;
  return nullptr;
}

} // namespace dlc
