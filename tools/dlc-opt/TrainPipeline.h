// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dlc::tool {

/// Makes --dlc-train="stop-after=PHASE FLAG=VALUE ..." known: the phases of
/// training up to PHASE (simplify, unless it is given), with a step's options.
void registerTrainPipeline();

} // namespace dlc::tool
