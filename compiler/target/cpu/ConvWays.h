// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/Target.h"
#include "compiler/target/cpu/codegen/CpuTarget.h"

namespace dlc {

/// Of a convolution or one of its gradients. `fast`: 4x4 tiles may be chosen
/// unasked.
Ways waysOfConv(ir::PlaceableInterface op, const CpuTarget &target, bool fast);

} // namespace dlc
