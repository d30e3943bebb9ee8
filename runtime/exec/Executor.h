// SPDX-License-Identifier: Apache-2.0
// Runs the programs of a plan on one device: memory, inputs, state, steps.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/collective/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/device/Tuning.h"
#include "runtime/exec/Probe.h"
#include "runtime/exec/TensorView.h"
#include "runtime/exec/parts/StateParts.h"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

// Time spent in one command since profiling was switched on.
struct CommandProfile {
  std::string program, label, kind;
  std::string name; // of the generated kernel, else the kind
  uint64_t calls = 0;
  double seconds = 0; // host time of enqueue(), of all calls
  double least = 0;   // of one call, where other programs disturbed it least
  uint64_t flops = 0; // of one call, as the plan says
  uint64_t bytes = 0;
  bool inBf16 = false; // a library's work in bf16
  double begin = 0; // of all calls: from the program's start to the command's
  int64_t bucket = -1; // of a collective and of what waits for it
};

struct ExecutorOptions {
  int threads = 0; // of a CPU; 0: as many as the process may run on
  // Which of the GPUs that this process sees; below 0: LOCAL_RANK, else the
  // rank.
  int ordinal = -1;
  // Record each program at its second run and launch it as one from then on,
  // on a device that can (--no-graph: false).
  bool record = true;
  // Ranks that share out what --zero does; 0: all. It divides their number.
  int group = 0;
  // Of reductions between devices. The communicator's own is for all else.
  std::chrono::milliseconds timeout{60'000};
  TuneOptions tune{}; // on a device whose libraries have several algorithms
};

// The error of a plan for `compiled` ranks that `found` run.
Status wrongNumberOfRanks(uint32_t compiled, uint32_t found);

// Not thread-safe: one thread creates it, runs it and destroys it. A step after
// the first of its program allocates nothing.
//
// On a device with queues the host may be a step ahead: inputs travel while the
// step before goes on, and outputs while the next one does.
//
// Environment: DLC_POISON=1 fills scratch memory with NaN before every run, so
// that reading what was never written shows. DLC_SYNC=1 waits for the device
// after every command, so that an error names the command.
class Executor {
public:
  // Allocates the plan's regions, zeroed, and loads `kernels` (empty: the
  // plan has no generated kernels). `communicator` may be null for a plan of
  // one rank and must outlive the executor; a plan for several runs on any
  // number. Errors: Corrupt for a plan that contradicts itself, Incompatible
  // for another target, or several ranks and a plan for one, Limit when memory
  // is short: then with the largest tensors of the plan.
  static Result<std::unique_ptr<Executor>>
  create(plan::Plan plan, const KernelFiles &kernels,
         Communicator *communicator = nullptr,
         const ExecutorOptions &options = {});
  ~Executor();

  const plan::Plan &plan() const;
  MemoryReport memory() const;
  bool isOnHost() const; // see Device::isHost

  // Binds the commands of a program: chooses library algorithms and allocates
  // their scratch. The first run() does it too.
  Status prepare(std::string_view program);

  // How many runs a host that reads reports should be ahead of the one it reads
  // about, so that the device never waits for it; 0 where run() computes.
  int runsAhead() const;

  // State by its name in the plan. The view is of the live memory: read or
  // write it between runs. Incompatible on a device whose memory the host
  // cannot see; readState and writeState work on all. `bytes` must be the
  // tensor's size.
  Result<TensorView> state(std::string_view name);
  bool hasState(std::string_view name) const;
  // The same on every device: where the host cannot see the memory, a view of
  // `copy`, which it fills.
  Result<TensorView> fetchState(std::string_view name,
                                std::vector<std::byte> &copy);
  Status readState(std::string_view name, void *to, uint64_t bytes);
  Status writeState(std::string_view name, const void *from, uint64_t bytes);
  // States of which each rank has a part (--zero) are read as a whole where
  // they were gathered, until the next training step, or on rank 0 what was
  // written last; elsewhere that is Failed. All ranks call it, between runs; it
  // keeps them on rank 0, or on all. Written on each rank, they are whole.
  Status gatherState(Communicator &communicator, bool onAllRanks = false);
  Result<StateParts *> parts(); // what this rank has without that
  void dropGathered();          // their memory
  bool hasParts() const;        // of any state
  // Of a region of the plan, what this rank has of it.
  uint64_t bytesOfRegion(int region) const;
  // Grows whenever the host may have written state, with writeState() or
  // through a view.
  uint64_t stateWrites() const;

  // Copies an input's bytes, in the port's element type and shape. Integers are
  // checked against the port's limit (Usage). Every input must be set before
  // every run: programs share their scratch memory.
  Status setInput(std::string_view program, std::string_view port,
                  const void *data, uint64_t bytes);

  // One step. On a device with queues it returns when the step is enqueued,
  // and an error of the step may come from a later call. Programs that the plan
  // lets the host run after it may still be under way, too; all that touches
  // state waits for them, and gets their errors. Usage for such a program
  // itself. PeerLost when a
  // collective failed: then every later run of this executor fails with the
  // same error. With a probe, commands run one at a time.
  Status run(std::string_view program, Probe *probe = nullptr);
  // Returns when everything that was run is done.
  Status synchronize();

  // What the program puts out travels to the host behind its run, which must be
  // the last one. Waits for nothing. At most runsAhead() + 1 reports of a
  // program may be unread.
  Status report(std::string_view program);
  // The outputs of the oldest report that was not read yet, in the program's
  // order; waits for its run and gets its error. They are valid until the next
  // report or, with no runs ahead, the next input. Usage if there is none.
  Result<std::span<const TensorView>> readReport(std::string_view program);

  // Seconds for which runs have waited for collectives so far; none where the
  // device waits and not the host, and of one rank.
  std::optional<double> secondsBlocked() const;

  // Test hook: the next run makes an f32 gradient infinite before anything
  // reads it; Usage from that run if the program has none.
  void injectInfinity();

  // Times every command from now on, from zero; off by default.
  void setProfiling(bool on);
  std::vector<CommandProfile> profile() const;

private:
  class Impl;
  explicit Executor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace dlc
