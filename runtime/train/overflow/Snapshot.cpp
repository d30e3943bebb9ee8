// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/overflow/Snapshot.h"

#include "runtime/plan/Types.h"

namespace dlc {

static bool isKept(const std::string &role, Snapshot::Of what) {
  if (role == "const" || role == "accumulator")
    return false;
  return what == Snapshot::Of::All ||
         (role != "param" && role != "moment" && role != "ema");
}

Snapshot::Snapshot(const plan::Plan &plan, Of what) {
  for (const plan::State &state : plan.states())
    if (isKept(state.role(), what))
      copies_.push_back(
          {state.name(),
           std::vector<std::byte>(plan::bytesOf(state.type()).value_or(0))});
}

Status Snapshot::take(Executor &executor) {
  for (Copy &copy : copies_)
    DLC_TRY(
        executor.readState(copy.name, copy.bytes.data(), copy.bytes.size()));
  return {};
}

Status Snapshot::restore(Executor &executor) const {
  for (const Copy &copy : copies_)
    DLC_TRY(
        executor.writeState(copy.name, copy.bytes.data(), copy.bytes.size()));
  return {};
}

} // namespace dlc
