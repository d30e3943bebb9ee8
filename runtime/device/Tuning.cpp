// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/Tuning.h"
#include "runtime/base/options/OptionTable.h"

namespace dlc {

static void addWorkspace(OptionTable &table, uint64_t &bytes) {
  Option &row =
      table.add("run.workspace-mb", "scratch that an algorithm may use", "MIB");
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
              "algorithms: off: the library's first choice, heuristic: what "
              "was measured before, benchmark: measured now")
      .notKept();
  table
      .count("run.tune-candidates", candidates, 1,
             "algorithms to measure of each command", 1000)
      .notKept();
  addWorkspace(table, workspace);
  table
      .toggle("run.deterministic", deterministic,
              "only algorithms whose sums have one order, none chosen by its "
              "time")
      .notKept();
  table.toggle("run.tf32", tf32,
               "lets a GPU round the operands of f32 products and "
               "convolutions to 10 bits: faster, less exact");
  table
      .text("run.cache-dir", cacheFolder, "FOLDER",
            "of what was measured (default as dlc doctor cache)")
      .notKept();
}

} // namespace dlc
