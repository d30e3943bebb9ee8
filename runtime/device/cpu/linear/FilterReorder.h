// SPDX-License-Identifier: Apache-2.0
// Reorders filters between the plan's layout and oneDNN's, faster than oneDNN,
// whose reorders reach 3 to 10 GB/s for many filters of one tap.
#pragma once

#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/device/cpu/kernels/FilterLoops.h"

#include <dnnl.hpp>
#include <optional>
#include <vector>

namespace dlc {

class FilterReorder {
public:
  // Null if FilterLoops.h has no loop for a copy between these layouts, one of
  // which must be a plain [outputs, inputs, taps].
  static std::optional<FilterReorder> between(const dnnl::memory::desc &from,
                                              const dnnl::memory::desc &to);
  void run(void *from, void *to, const Threads &threads) const;

private:
  FilterReorder(const dnnl::memory::desc &plain,
                const dnnl::memory::desc &other, bool packs);
  FilterLoops::Copy *loop() const;

  int64_t outputs_, inputs_, taps_;
  bool packs_, areHalves_;
  std::vector<int64_t> ofOutput_, ofInput_, ofTap_;
  FilterLoops::Copy *copy_;
};

} // namespace dlc
