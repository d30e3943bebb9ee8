// SPDX-License-Identifier: Apache-2.0
// Small kernels as parts of one launch, with separate blocks.
#include "compiler/target/cuda/codegen/threads/Mapping.h"

namespace dlc::cuda {

constexpr int64_t kPartBlock = 256;

std::vector<PartBeside> mappingsBeside(exec::KernelOp kernel) {
  std::vector<PartBeside> parts;
  const unsigned count = partsOf(kernel.getBody());
  std::string why;
  if (count == 1 || lastOf(kernel.getBody()))
    return {};
  for (unsigned part = 0; part < count; ++part) {
    auto graph = KernelGraph::build(kernel.getBody(), why, part);
    if (!graph)
      return {};
    const KernelSchedule schedule = scheduleKernel(*graph);
    Mapping map(*graph, schedule);
    static_cast<exec::Threads &>(map) = decideThreads(*graph, schedule);
    if (map.kind != KernelSchedule::Elementwise || map.transposed ||
        map.product)
      return {};
    map.block = kPartBlock;
    map.grid = map.blocks();
    const int64_t begin =
        parts.empty() ? 0 : parts.back().begin + parts.back().map.grid;
    parts.push_back({std::move(graph), map, begin});
  }
  return parts;
}

exec::Threads threadsBeside(const std::vector<PartBeside> &parts) {
  exec::Threads threads;
  threads.grid = parts.back().begin + parts.back().map.grid;
  threads.block = kPartBlock;
  return threads;
}

} // namespace dlc::cuda
