// SPDX-License-Identifier: Apache-2.0
// A program that the host runs after every run of another program, in parallel
// with the device: on a thread and with scratch memory of its own.
#pragma once

#include "runtime/exec/Program.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace dlc {

// start() and wait() must be called by one thread.
class Follower {
public:
  // `plan`, `program` and the regions of `memory` must outlive it.
  static Result<std::unique_ptr<Follower>> create(const plan::Plan &plan,
                                                  const plan::Program &program,
                                                  const RankMemory &memory,
                                                  const KernelFiles &kernels);
  ~Follower();

  // Starts a run; wait for the previous one first. Allocates nothing.
  void start(bool timed);
  // Waits for the current run; returns the first error of all runs.
  Status wait();

  // May be accessed between runs.
  Program &program() { return *program_; }

  // The index of the first command of `leader` that must not run in parallel
  // with this program, as it writes what this program reads or accesses what
  // this program writes; the number of commands if there is none.
  size_t firstConflict(const plan::Program &leader) const;

private:
  Follower(const plan::Plan &plan, RankMemory memory,
           std::unique_ptr<Device> device)
      : plan_(plan), memory_(std::move(memory)), device_(std::move(device)) {}
  void work();

  const plan::Plan &plan_;
  RankMemory memory_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Program> program_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool running_ = false, timed_ = false, stop_ = false;
  Status error_;
  std::thread thread_; // last, because it uses the other members
};

} // namespace dlc
