// SPDX-License-Identifier: Apache-2.0
// The compiler's half of the third device.
#pragma once

#include "compiler/target/Target.h"

namespace dlc::test {

std::shared_ptr<const Target> makeFakeTarget(const TargetOptions &options);

} // namespace dlc::test
