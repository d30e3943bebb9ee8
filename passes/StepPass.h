// SPDX-License-Identifier: Apache-2.0
// Base class of the passes of Passes.td: they run on a module and read some
// options of a step (OptionPass.h).
#pragma once

#include "compiler/options/OptionPass.h"
#include "passes/Options.h"

namespace dlc {

extern template class OptionPass<StepOptions>;
using StepPass = OptionPass<StepOptions>;

} // namespace dlc
