#include "compiler/driver/Settings.h"
#include "runtime/base/Bytes.h"

namespace dlc {

void Settings::addMemory() {
  MemoryOptions &o = options.memory;
  patterns("memory.recompute", o.recompute,
           "computes activations of nodes that match again, not to keep them");
  Setting &budget = add("memory.budget",
                        "most a rank may take, by computing activations again "
                        "as needed; 0: no limit",
                        "SIZE")
                        .named("--memory");
  budget.set = [&o](auto &words) -> Status {
    DLC_ASSIGN(o.budget, parseBytes(words.size() == 1 ? words[0] : ""));
    return {};
  };
  budget.get = [&o] { return exactBytes(o.budget); };
  int64_t &allowed = options.import.budget;
  Setting &import =
      add("memory.import-budget",
          "most that constants computed while a model is read may take, beside "
          "its files' own size, and a step of work for every two bytes",
          "SIZE")
          .named("--import-budget");
  import.set = [&allowed](auto &words)
                   ->Status {
                     DLC_ASSIGN(allowed,
                                parseBytes(words.size() == 1 ? words[0] : ""));
  return {};
};
import.get = [&allowed] { return exactBytes(allowed);
}; // namespace dlc
}

} // namespace dlc
