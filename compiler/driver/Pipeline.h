// SPDX-License-Identifier: Apache-2.0
// All of compilation, from an imported module to a planned one.
#pragma once

#include "compiler/driver/Options.h"
#include "passes/Pipeline.h"

namespace dlc {

/// passes/Pipeline.h's phases and then those of compiler/lower.
std::vector<Phase> allPhases(const CompileOptions &options);

/// Every dialect, gradient and decomposition that the phases need.
void registerEverything(mlir::DialectRegistry &registry);

} // namespace dlc
