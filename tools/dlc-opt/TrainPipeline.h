// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace dlc::tool {

/// Registers --dlc-train="stop-after=PHASE FLAG=VALUE ...": the training phases
/// up to PHASE (default: simplify), with options of a step.
void registerTrainPipeline();

} // namespace dlc::tool
