// SPDX-License-Identifier: Apache-2.0
// Writes the files of an artifact.
#pragma once

#include "compiler/driver/Lowered.h"

namespace dlc {

/// Writes the artifact to `lowered.options.output`, atomically; the plan must
/// be complete. `kernels`: the target's files by name.
Status writeArtifact(const Lowered &lowered,
                     const std::map<std::string, std::string> &kernels);

} // namespace dlc
