// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/Kinds.h"

namespace dlc {

static constexpr std::span<const Kind> (*kFamilies[])() = {
    attentionKinds, batchNormKinds, convKinds,          copyKinds,
    customKinds,    flatKinds,      gatherKinds,        groupedMatmulKinds,
    kernelKinds,    matmulKinds,    orthogonalizeKinds, poolKinds,
};

static Factory findIn(std::span<const Kind> kinds, std::string_view name) {
  for (const Kind &kind : kinds)
    if (kind.name == name)
      return kind.factory;
  return nullptr;
}

Factory findKind(std::string_view name, std::span<const Kind> added) {
  for (auto family : kFamilies)
    if (const Factory found = findIn(family(), name))
      return found;
  return findIn(added, name);
}

} // namespace dlc
