// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiler/target/Target.h"

namespace dlc {

/// Of a convolution or one of its gradients. `fast`: 4x4 tiles may be chosen
/// unasked.
Ways waysOfConv(ir::PlaceableInterface op, bool fast);

} // namespace dlc
