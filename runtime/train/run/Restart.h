// SPDX-License-Identifier: Apache-2.0
// The same command again after a restart: goes on with the run that it began.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/train/TrainOptions.h"

namespace dlc {

// Whether the run folder that `options` name holds a run of this artifact, to
// be gone on with; false where a new one can begin. Code::Usage if the folder
// holds a run of another artifact.
Result<bool> hasBegun(const TrainOptions &options);

// The options to go on with options.run: as resumeOptions(), for a command that
// begins a run. Code::Usage if it would be another run than it began.
Result<TrainOptions> restartOptions(const TrainOptions &options);

// One of both, the same on all ranks: rank 0 decides, since it may have begun
// the run when another looks for it.
Result<TrainOptions> resumeOrStart(const TrainOptions &options,
                                   Communicator &communicator);

} // namespace dlc
