// SPDX-License-Identifier: Apache-2.0
// A program that the host runs after every run of another, beside what the
// device does next: on a thread of its own, with scratch memory of its own.
#pragma once

#include "runtime/exec/Program.h"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace dlc {

// start() and wait() are for one thread.
class Follower {
public:
  // `plan`, `program` and the regions of `memory` outlive it.
  static Result<std::unique_ptr<Follower>> create(const plan::Plan &plan,
                                                  const plan::Program &program,
                                                  const RankMemory &memory,
                                                  const KernelFiles &kernels);
  ~Follower();

  // Starts a run; the last one must have been waited for. Allocates nothing.
  void start(bool timed);
  // Returns when no run is under way, with the first error of all runs.
  Status wait();

  // Between runs.
  Program &program() { return *program_; }

  // The first command of `leader` that may not run beside this program, as it
  // writes what this reads or touches what this writes; their number if all
  // may.
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
  std::thread thread_; // last: it uses the rest
};

} // namespace dlc
