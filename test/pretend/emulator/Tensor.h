// SPDX-License-Identifier: Apache-2.0
// What feeds tensor cores and what they compute: cp.async and mma.sync.
#pragma once

namespace dlc::test {

/// Forgets the copies that no thread of the last block has waited for.
void dropCopies();

} // namespace dlc::test
