// SPDX-License-Identifier: Apache-2.0
#include "passes/StepPass.h"

namespace dlc {

template class OptionPass<StepOptions>;

} // namespace dlc
