// SPDX-License-Identifier: Apache-2.0
// The batch that fills a memory limit.
#pragma once

#include "compiler/driver/Options.h"
#include "runtime/base/Status.h"

namespace dlc {

/// The options with the largest batch whose step needs at most memory.budget
/// bytes (all regions of one rank, by the plan; a library's scratch is known
/// to a device alone) while no activation is computed
/// again; from 64 on a multiple of 8. Found by the plans of some batches:
/// memory grows with the batch, almost in proportion. Limit if not even a batch
/// of 1 fits; other errors are those of a compilation.
Result<CompileOptions> withLargestBatch(const CompileOptions &options);

} // namespace dlc
