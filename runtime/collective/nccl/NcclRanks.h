// SPDX-License-Identifier: Apache-2.0
// Whether ranks can reduce by NCCL, before they meet in it.
#pragma once

#include "runtime/collective/Communicator.h"

namespace dlc {

// Every rank learns whether all can take part: `own` is this rank's state,
// `version` that of its NCCL, and each rank has a device of its own (empty:
// unknown). Incompatible, naming the rank, or UsageError for ranks of one GPU.
Status agreeOnNccl(Communicator &control, const Status &own,
                   const std::string &version, const std::string &device);

} // namespace dlc
