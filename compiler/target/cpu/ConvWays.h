// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/Target.h"
#include "compiler/target/cpu/codegen/CpuTarget.h"

namespace dlc {

/// Ways to compute a convolution or one of its gradients. `fast`: tiles of 4x4
/// may be used by default.
Ways waysOfConv(ir::PlaceableInterface op, const CpuTarget &target, bool fast);

} // namespace dlc
