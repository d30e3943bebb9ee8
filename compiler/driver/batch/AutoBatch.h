// SPDX-License-Identifier: Apache-2.0
// Finds the batch that fills a memory limit.
#pragma once

#include "compiler/driver/Options.h"
#include "runtime/base/Status.h"

namespace dlc {

/// The options with the largest batch whose step needs at most memory.budget
/// bytes without recomputation (all regions of one rank in the plan; scratch of
/// libraries is only known on a device); a multiple of 8 from 64 on. Found from
/// the plans of some batches, since memory grows almost in proportion to the
/// batch. Limit if a batch of 1 does not fit; other errors are those of a
/// compilation.
Result<CompileOptions> withLargestBatch(const CompileOptions &options);

} // namespace dlc
