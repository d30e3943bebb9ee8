#include "compiler/driver/Settings.h"

namespace dlc {

void Settings::addMemory() {
  MemoryOptions &o = options.memory;
  patterns("memory.recompute", o.recompute,
           "computes activations of nodes that match again, not to keep them");
}

} // namespace dlc
