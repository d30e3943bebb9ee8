// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/batch/AutoBatch.h"
#include "compiler/driver/Compiler.h"
#include "runtime/base/Bytes.h"
#include "runtime/base/process/Log.h"

#include <algorithm>

namespace dlc {
namespace {

constexpr int64_t kMost = 65536; // rows; more do not speed up a step
constexpr int64_t kEven = 8, kManyRows = 64;

struct SizedBatch {
  int64_t rows = 0;
  double bytes = 0;
};

class Search {
public:
  explicit Search(const CompileOptions &given) : options(given) {
    budget = double(given.memory.budget);
    options.autoBatch = false;
    options.memory.budget = 0; // without recomputation and offloading
    options.memory.offload = OffloadMode::Off;
    options.stopAfter.clear();
  }

  Result<SizedBatch> run() {
    DLC_ASSIGN(SizedBatch fits, measure(1));
    if (fits.bytes > budget)
      return limitExceeded("{}: a step of one sample takes {}, --memory allows "
                           "{}; see --recompute, --amp and --optimizer",
                           options.model, roundBytes(fits.bytes),
                           roundBytes(budget));
    DLC_ASSIGN(SizedBatch other, measure(kEven));
    std::optional<SizedBatch> over;
    while (true) {
      if (other.bytes > budget)
        over = other;
      else if (other.rows > fits.rows)
        fits = other;
      const int64_t next = guess(fits, other, over);
      if (next <= fits.rows || (over && next >= over->rows))
        return fits;
      DLC_ASSIGN(other, measure(next));
    }
  }

private:
  Result<SizedBatch> measure(int64_t rows) {
    options.batches = {rows};
    DLC_ASSIGN(const uint64_t bytes, stepBytes(options));
    first = rows == 1 ? double(bytes) : first;
    return SizedBatch{rows, double(bytes)};
  }

  /// Where the line through the first and the last batch meets the budget,
  /// between a batch that fits and one that does not; else their midpoint.
  int64_t guess(const SizedBatch &fits, const SizedBatch &last,
                const std::optional<SizedBatch> &over) const {
    const double slope = (last.bytes - first) / double(last.rows - 1);
    const double line =
        slope > 0 ? 1 + (budget - first) / slope : double(kMost);
    const int64_t most = over ? over->rows - 1 : kMost;
    int64_t next = even(int64_t(std::clamp(line, 1.0, double(most))));
    if (over && next <= fits.rows)
      next = even((fits.rows + over->rows) / 2);
    return next;
  }
  static int64_t even(int64_t rows) {
    return rows >= kManyRows ? rows / kEven * kEven : rows;
  }

  CompileOptions options;
  double budget = 0, first = 0; // bytes of one sample
};

} // namespace

Result<CompileOptions> withLargestBatch(const CompileOptions &options) {
  DLC_ASSIGN(const SizedBatch found, Search(options).run());
  info("--batch={}: a step takes {}, --memory allows {}", found.rows,
       roundBytes(found.bytes), roundBytes(double(options.memory.budget)));
  CompileOptions sized = options;
  sized.autoBatch = false;
  sized.batches = {found.rows};
  return sized;
}

} // namespace dlc
