// SPDX-License-Identifier: Apache-2.0
// Repeats a command after a restart: resumes the run that it began.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/TrainOptions.h"

namespace dlc {

// Whether the run folder in `options` has a run of this artifact that can be
// resumed; false if a new one can begin there. Code::Usage if it has a run of
// another artifact.
Result<bool> hasBegun(const TrainOptions &options);

// Resumes or starts. Rank 0 decides for all ranks, since it may create the run
// before another rank looks for it.
Result<TrainOptions> resumeOrStart(const TrainOptions &options,
                                   Communicator &communicator);

} // namespace dlc
