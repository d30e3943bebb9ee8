// SPDX-License-Identifier: Apache-2.0
// State by name: this rank's, or gathered from all ranks.
#include "runtime/exec/ExecutorImpl.h"
#include "runtime/plan/Types.h"

#include <algorithm>

namespace dlc {

Result<const plan::State *> Executor::Impl::findState(std::string_view name) {
  for (const plan::State &state : plan_.states())
    if (state.name() == name)
      return &state;
  return failed("no state '{}' in the plan", name);
}

bool Executor::hasParts() const { return !impl_->memory_->isWhole(); }
uint64_t Executor::bytesOfRegion(int region) const {
  return impl_->memory_->bytesOf(region);
}

Status Executor::gatherState(Communicator &communicator, bool onAllRanks) {
  const auto &states = impl_->plan_.states();
  if (std::none_of(states.begin(), states.end(),
                   [&](auto &state) { return impl_->parts_->isApart(state); }))
    return {};
  DLC_TRY(synchronize());
  DLC_TRY(impl_->settle());
  const bool keep = onAllRanks || communicator.rank() == 0;
  for (const plan::State &state : states)
    if (impl_->parts_->isApart(state))
      DLC_TRY(impl_->parts_->gather(state, communicator, keep));
  return {};
}

Result<StateParts *> Executor::parts() {
  DLC_TRY(impl_->settle());
  DLC_TRY(impl_->device_->makeCurrent());
  return &*impl_->parts_;
}

void Executor::dropGathered() { impl_->parts_->drop(); }

Result<TensorView> Executor::state(std::string_view name) {
  DLC_TRY(impl_->settle());
  DLC_ASSIGN(const plan::State *const state, impl_->findState(name));
  if (impl_->parts_->isPart(*state))
    return impl_->parts_->unknown(*state);
  ++impl_->stateWrites_;
  return impl_->view({impl_->address(*state), &state->type()}, name);
}

bool Executor::hasState(std::string_view name) const {
  return impl_->findState(name).ok();
}

Result<TensorView> Executor::fetchState(std::string_view name,
                                        std::vector<std::byte> &copy) {
  DLC_TRY(impl_->settle());
  DLC_ASSIGN(const plan::State *const state, impl_->findState(name));
  std::byte *const data = impl_->address(*state);
  if (!impl_->parts_->isPart(*state) && impl_->device_->hostPointer(data)) {
    ++impl_->stateWrites_;
    return impl_->view({data, &state->type()}, name);
  }
  copy.resize(plan::bytesOf(state->type()).value_or(0));
  DLC_TRY(readState(name, copy.data(), copy.size()));
  return TensorView{&state->type(), copy.data(), copy.size()};
}

static Status checkSize(const plan::State &state, uint64_t bytes) {
  const uint64_t expected = plan::bytesOf(state.type()).value_or(0);
  return bytes == expected ? Status()
                           : failed("state '{}' has {} bytes, expected {}",
                                    state.name(), bytes, expected);
}

Status Executor::readState(std::string_view name, void *to, uint64_t bytes) {
  DLC_TRY(impl_->settle());
  DLC_ASSIGN(const plan::State *const state, impl_->findState(name));
  DLC_TRY(checkSize(*state, bytes));
  if (impl_->parts_->isPart(*state))
    return impl_->parts_->read(*state, to);
  DLC_TRY(impl_->device_->makeCurrent());
  return impl_->settled(
      impl_->device_->download(to, impl_->address(*state), bytes));
}

Status Executor::writeState(std::string_view name, const void *from,
                            uint64_t bytes) {
  DLC_TRY(impl_->settle());
  DLC_ASSIGN(const plan::State *const state, impl_->findState(name));
  DLC_TRY(checkSize(*state, bytes));
  DLC_TRY(impl_->device_->makeCurrent());
  ++impl_->stateWrites_;
  if (impl_->parts_->isPart(*state))
    return impl_->parts_->write(*state, static_cast<const std::byte *>(from));
  return impl_->device_->upload(impl_->address(*state), from, bytes);
}

uint64_t Executor::stateWrites() const { return impl_->stateWrites_; }

} // namespace dlc
