// Who computes attention as one op.
#pragma once

#include "compiler/target/Target.h"
#include "passes/Options.h"

namespace dlc {

/// By the options and, where they leave it open, the target; none: nobody, it
/// stays products and softmax.
std::optional<By> whoAttends(const StepOptions &options, const Target &target);

} // namespace dlc
