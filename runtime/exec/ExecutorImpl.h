// SPDX-License-Identifier: Apache-2.0
// The data of an executor.
#pragma once

#include "runtime/base/options/Environment.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/Follower.h"
#include "runtime/exec/Reports.h"
#include "runtime/exec/parts/StateParts.h"
#include "runtime/plan/Ports.h"

#include <map>

namespace dlc {

class Executor::Impl {
public:
  Impl(plan::Plan plan, std::unique_ptr<Device> device, bool record)
      : plan_(std::move(plan)), device_(std::move(device)),
        poison_(environment::poisonsScratch()),
        name_(environment::waitsForEachCommand()),
        record_(record && device_->canRecord()) {}

  Status allocate(const KernelFiles &kernels, Communicator *communicator,
                  const ExecutorOptions &options);
  Status settled(const Status &status);
  Result<Program *> program(std::string_view name);
  Result<TensorView> view(const Operand &operand, std::string_view name);
  Result<const plan::State *> findState(std::string_view name);
  std::byte *address(const plan::State &state) const {
    return memory_->at(state.region(), state.offset());
  }
  Status checkInputsSet(const plan::Program &program);
  Status run(Program &program, Probe *probe);
  Status openFeed();
  Result<Reports *> reports(std::string_view program);
  Result<std::unique_ptr<Program>> bind(int program);
  std::vector<Program *> bound();
  Follower *followerOf(const plan::Program &program) {
    return follower_ && plan::isFollowedBy(program, follower_->program().plan())
               ? follower_.get()
               : nullptr;
  }
  // Waits for the follower's run.
  Status settle() { return follower_ ? follower_->wait() : Status(); }

  const plan::Plan plan_;
  std::unique_ptr<Device> device_;
  std::optional<RankMemory> memory_;
  std::optional<RankMemory> predicting_; // with more scratch; set when needed
  std::optional<StateParts> parts_;
  std::unique_ptr<Reducer> collectives_;
  KernelFiles kernels_;
  std::vector<std::unique_ptr<Program>> programs_; // null until bound
  std::unique_ptr<Follower> follower_; // null until its leader is bound
  std::unique_ptr<InputFeed> feed_; // null: inputs are copied to their places
  std::map<const Program *, std::unique_ptr<Reports>> reports_;
  uint64_t stateWrites_ = 0;
  const plan::Program *inputsOf_ = nullptr; // program that isSet_ is for
  std::vector<bool> isSet_;
  const plan::Program *outputsOf_ = nullptr; // the program that ran last
  const Reports *reported_ = nullptr;        // of that run, unread
  bool profiling_ = false;
  bool poison_ = false;
  bool name_ = false;
  bool record_ = false;
  bool inject_ = false; // in the next run
  Status broken_;       // of a failed collective; later runs return it
};

} // namespace dlc
