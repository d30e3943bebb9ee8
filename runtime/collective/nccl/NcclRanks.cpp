// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/nccl/NcclRanks.h"

#include <map>
#include <vector>

namespace dlc {

Status agreeOnNccl(Communicator &control, const Status &own,
                   const std::string &version, const std::string &device) {
  DLC_ASSIGN(const auto versions,
             control.allGather(own.ok() ? "=" + version : own.message()));
  DLC_ASSIGN(const auto devices, control.allGather(device));
  std::map<std::string, size_t> taken;
  for (size_t rank = 0; rank < devices.size(); ++rank)
    if (const auto [other, isNew] = taken.try_emplace(devices[rank], rank);
        !isNew && !devices[rank].empty())
      return usageError("ranks {} and {} are on the same GPU, {}: NCCL reduces "
                        "between GPUs; start at most one rank for each GPU, or "
                        "see CUDA_VISIBLE_DEVICES",
                        other->second, rank, devices[rank]);
  for (size_t rank = 0; rank < versions.size(); ++rank)
    if (versions[rank] != versions[0] || !versions[rank].starts_with('='))
      return incompatible("rank {}: {}", rank,
                          versions[rank].starts_with('=')
                              ? fmt::format("NCCL {}, expected {} as on rank 0",
                                            versions[rank].substr(1),
                                            versions[0].substr(1))
                              : versions[rank]);
  return own;
}

} // namespace dlc
