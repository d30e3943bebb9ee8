// SPDX-License-Identifier: Apache-2.0
// The CPU device's thread pool: libgomp's, which oneDNN uses too, so that the
// cores never run two pools.
#pragma once

#include "runtime/base/Status.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace dlc {

class Threads {
public:
  // 0: as many as the process may use.
  explicit Threads(int count);

  int count() const { return count_; }

  // Code::Limit if the system cannot create that many threads, in which case
  // libgomp would end the process.
  Status check() const;

  // Makes oneDNN's parallel regions, started by the calling thread, use this
  // pool's size.
  void makeCurrent() const;

  // Calls fn(begin, end) for ranges that cover [0, extent), each on one thread
  // and at least `grain` long unless extent is shorter. Runs on the calling
  // thread when one range is enough.
  template <class F>
  void parallelFor(int64_t extent, int64_t grain, F &&fn) const {
    parallelParts(extent, grain,
                  [&](int, int64_t begin, int64_t end) { fn(begin, end); });
  }

  // The same with the index of the range, below count(), for per-range memory.
  template <class F>
  void parallelParts(int64_t extent, int64_t grain, F &&fn) const {
    const int64_t most = (extent + grain - 1) / std::max<int64_t>(grain, 1);
    const int parts = static_cast<int>(std::min<int64_t>(count_, most));
    if (extent <= 0)
      return;
    if (parts <= 1)
      return fn(0, int64_t(0), extent);
    auto part = [&](int index) {
      fn(index, extent * index / parts, extent * (index + 1) / parts);
    };
    using Part = decltype(part);
    run(
        parts,
        [](void *context, int index) {
          (*static_cast<Part *>(context))(index);
        },
        &part);
  }

private:
  void run(int parts, void (*fn)(void *, int), void *context) const;

  int count_;
};

} // namespace dlc
