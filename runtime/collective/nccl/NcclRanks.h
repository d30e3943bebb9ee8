// SPDX-License-Identifier: Apache-2.0
// Checks that all ranks can use NCCL, before they connect by it.
#pragma once

#include "runtime/collective/Communicator.h"

namespace dlc {

// All ranks learn whether all can use NCCL: `own` is this rank's state,
// `version` that of its NCCL, `device` its GPU's identifier (empty: unknown).
// Code::Incompatible, naming the rank, or UsageError if ranks share one.
Status agreeOnNccl(Communicator &control, const Status &own,
                   const std::string &version, const std::string &device);

} // namespace dlc
