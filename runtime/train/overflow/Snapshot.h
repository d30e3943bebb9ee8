// SPDX-License-Identifier: Apache-2.0
// The state before a step, to go back to.
#pragma once

#include "runtime/exec/Executor.h"

namespace dlc {

class Snapshot {
public:
  enum class Of {
    All,
    Unguarded, // what a step changes that is skipped: all but parameters,
               // moments and averages
  };

  // At the start of a window: accumulators are left out.
  Snapshot(const plan::Plan &plan, Of what);

  // Allocates the first time.
  Status take(Executor &executor);
  // Only after take().
  Status restore(Executor &executor) const;

private:
  struct Copy {
    std::string name;
    std::vector<std::byte> bytes;
  };
  std::vector<Copy> copies_;
};

} // namespace dlc
