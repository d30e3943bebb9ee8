// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/session/Buffers.h"

#include "runtime/base/numbers/FloatCast.h"
#include "runtime/plan/Types.h"
#include "runtime/train/session/State.h"

#include <cstring>
#include <set>

namespace dlc {
namespace {

using States = std::vector<const plan::State *>;

// Buffers and their averages.
States gatheredStates(const plan::Plan &plan) {
  std::set<std::string_view> buffers;
  for (const plan::State &state : plan.states())
    if (state.role() == "buffer")
      buffers.insert(state.name());
  States gathered;
  for (const plan::State &state : plan.states())
    if (state.role() == "buffer" ||
        (state.role() == "ema" && buffers.count(state.of())))
      gathered.push_back(&state);
  return gathered;
}

DType typeOf(const plan::State &state) {
  return *plan::dtypeOf(state.type().dtype());
}

// All in one message.
Status average(Executor &executor, Communicator &communicator,
               const States &states) {
  std::vector<double> sums;
  std::vector<std::byte> bytes;
  for (const plan::State *state : states) {
    const DType type = typeOf(*state);
    bytes.resize(plan::bytesOf(state->type()).value_or(0));
    DLC_TRY(executor.readState(state->name(), bytes.data(), bytes.size()));
    const size_t count = bytes.size() / sizeOf(type), first = sums.size();
    const auto wide = castFloats(bytes.data(), count, type, DType::F64);
    sums.resize(first + count);
    std::memcpy(sums.data() + first, wide.data(), wide.size());
  }
  DLC_TRY(communicator.allReduce(sums.data(), sums.size(), DType::F64,
                                 ReduceOp::Sum));
  for (double &sum : sums)
    sum /= communicator.size();
  const double *from = sums.data();
  for (const plan::State *state : states) {
    const DType type = typeOf(*state);
    const size_t count =
        plan::bytesOf(state->type()).value_or(0) / sizeOf(type);
    const auto rounded = castFloats(from, count, DType::F64, type);
    DLC_TRY(executor.writeState(state->name(), rounded.data(), rounded.size()));
    from += count;
  }
  return {};
}

} // namespace

Status settleBuffers(Executor &executor, Communicator &communicator,
                     BufferMode mode) {
  if (communicator.size() == 1)
    return {};
  States states = gatheredStates(executor.plan());
  if (mode == BufferMode::Mean) {
    const auto others =
        std::stable_partition(states.begin(), states.end(), [](auto *state) {
          return isFloat(typeOf(*state));
        });
    DLC_TRY(average(executor, communicator, {states.begin(), others}));
    states.erase(states.begin(), others);
  }
  return broadcastStates(executor, communicator, states);
}

} // namespace dlc
