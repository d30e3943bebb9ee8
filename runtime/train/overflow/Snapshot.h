// SPDX-License-Identifier: Apache-2.0
// A copy of the state before a step, to restore it.
#pragma once

#include "runtime/exec/Executor.h"

namespace dlc {

class Snapshot {
public:
  enum class Of {
    All,
    Unguarded, // states that a skipped step changes: all but parameters,
               // moments and averages
  };

  // For the start of a window, when accumulators are zero and are not copied.
  Snapshot(const plan::Plan &plan, Of what);

  // Allocates on the first call.
  Status take(Executor &executor);
  // Call after take().
  Status restore(Executor &executor) const;

private:
  struct Copy {
    std::string name;
    std::vector<std::byte> bytes;
  };
  std::vector<Copy> copies_;
};

} // namespace dlc
