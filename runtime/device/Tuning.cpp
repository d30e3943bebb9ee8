// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/Tuning.h"
#include "runtime/base/options/OptionTable.h"

namespace dlc {

static void addWorkspace(OptionTable &table, uint64_t &bytes) {
  Option &row =
      table.add("run.workspace-mb",
                "largest scratch memory of an algorithm in MiB", "MIB");
  row.set = [&bytes](auto &words) -> Status {
    DLC_ASSIGN(std::string word, oneWord(words));
    DLC_ASSIGN(double mebibytes, parseNumber(word, 0, 1e6));
    bytes = static_cast<uint64_t>(mebibytes * (1 << 20));
    return {};
  };
  row.get = [&bytes] {
    return Words{numberText(static_cast<double>(bytes) / (1 << 20))};
  };
  row.notKept();
}

void TuneOptions::addTo(OptionTable &table) {
  table.group("Libraries of a GPU");
  table
      .choice("run.tune", mode, {"off", "heuristic", "benchmark"},
              "choice of the libraries' algorithms; benchmark: the fastest, "
              "measured once and stored; heuristic: the stored one, else the "
              "library's first choice; off: the library's first choice")
      .notKept();
  table
      .count("run.tune-candidates", candidates, 1,
             "number of algorithms to measure per command", 1000)
      .notKept();
  addWorkspace(table, workspace);
  table
      .toggle("run.deterministic", deterministic,
              "only algorithms with a fixed order of sums, not chosen by "
              "measured time")
      .notKept();
  table.toggle("run.tf32", tf32,
               "TF32: operands of f32 matrix products and convolutions rounded "
               "to 10 bits on GPUs, faster and less exact");
  table
      .text("run.cache-dir", cacheFolder, "FOLDER",
            "folder of the measurements (default: as for dlc doctor cache)")
      .notKept();
}

} // namespace dlc
