// SPDX-License-Identifier: Apache-2.0
// The files of an artifact.
#pragma once

#include "compiler/driver/Lowered.h"

namespace dlc {

/// Writes the artifact to `lowered.options.output`, whole or not at all; the
/// plan is complete. `kernels`: the target's files by their names.
Status writeArtifact(const Lowered &lowered,
                     const std::map<std::string, std::string> &kernels);

} // namespace dlc
