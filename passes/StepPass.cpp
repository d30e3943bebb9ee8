#include "passes/StepPass.h"

namespace dlc {

template class OptionPass<StepOptions>;

} // namespace dlc
