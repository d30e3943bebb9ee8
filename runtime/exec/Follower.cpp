// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/Follower.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/exec/Devices.h"
#include "runtime/plan/Types.h"

#include <algorithm>

namespace dlc {

Result<std::unique_ptr<Follower>> Follower::create(const plan::Plan &plan,
                                                   const plan::Program &program,
                                                   const RankMemory &memory,
                                                   const KernelFiles &kernels) {
  DLC_ASSIGN(auto device, makeDevice("cpu", {.threads = 1}));
  // States are shared with the leader, but not scratch, because both programs
  // run in parallel.
  DLC_ASSIGN(RankMemory own, withScratch(memory, plan, program.scratch_bytes(),
                                         *device, program.name()));
  std::unique_ptr<Follower> follower(
      new Follower(plan, std::move(own), std::move(device)));
  Device &host = *follower->device_;
  if (!kernels.empty())
    DLC_TRY(host.loadKernels(kernels));
  DLC_ASSIGN(follower->program_, Program::bind({host, plan, follower->memory_,
                                                nullptr, false, false},
                                               program));
  // Last, because from here on the destructor has a thread to join.
  follower->thread_ = std::thread([f = follower.get()] { f->work(); });
  return follower;
}

Follower::~Follower() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

void Follower::start(bool timed) {
  {
    std::lock_guard lock(mutex_);
    running_ = true;
    timed_ = timed;
  }
  changed_.notify_all();
}

Status Follower::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !running_; });
  return error_;
}

void Follower::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return running_ || stop_; });
    if (!running_)
      return; // after a run that has been started
    const bool timed = timed_;
    lock.unlock();
    Status status = guarded(program_->plan().name(), [&]() -> Status {
      DLC_TRY(device_->makeCurrent()); // device settings are per thread
      return program_->run(timed);
    });
    lock.lock();
    if (error_.ok()) // the first error is the cause
      error_ = std::move(status);
    running_ = false;
    changed_.notify_all();
  }
}

namespace {

// Memory that outlives a step; each program has its own scratch.
struct Ranges {
  struct Range {
    uint32_t region;
    uint64_t begin, end;
  };
  std::vector<Range> all;

  void add(const plan::Plan &plan, const plan::Program &program,
           const auto &ids) {
    for (uint32_t id : ids) {
      const plan::Buffer &b = program.buffers(static_cast<int>(id));
      if (plan.regions(static_cast<int>(b.region())).kind() !=
          plan::Region::SCRATCH)
        all.push_back({b.region(), b.offset(),
                       b.offset() + plan::bytesOf(b.type()).value_or(0)});
    }
  }
  bool overlaps(const Ranges &other) const {
    return std::any_of(all.begin(), all.end(), [&](const Range &a) {
      return std::any_of(
          other.all.begin(), other.all.end(), [&](const Range &b) {
            return a.region == b.region && a.begin < b.end && b.begin < a.end;
          });
    });
  }
};

} // namespace

size_t Follower::firstConflict(const plan::Program &leader) const {
  // As a whole: the progress of this thread at a leader's command is unknown.
  const plan::Program &own = program_->plan();
  Ranges reads, writes;
  for (const plan::Command &command : own.commands()) {
    reads.add(plan_, own, command.inputs());
    writes.add(plan_, own, command.outputs());
  }
  for (int i = 0; i < leader.commands_size(); ++i) {
    Ranges in, out;
    in.add(plan_, leader, leader.commands(i).inputs());
    out.add(plan_, leader, leader.commands(i).outputs());
    if (out.overlaps(reads) || out.overlaps(writes) || in.overlaps(writes))
      return static_cast<size_t>(i);
  }
  return static_cast<size_t>(leader.commands_size());
}

} // namespace dlc
