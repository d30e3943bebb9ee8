// SPDX-License-Identifier: Apache-2.0
// Runs the programs of a plan on one device, with its memory, inputs and state.
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
  std::string name; // of the generated kernel, or the kind
  uint64_t calls = 0;
  double seconds = 0; // host time of enqueue(), summed over calls
  double least = 0;   // shortest call, least disturbed by other programs
  uint64_t flops = 0; // per call, from the plan
  uint64_t bytes = 0;
  bool inBf16 = false; // whether a library computes it in bf16
  double begin = 0;    // from the program's to the command's start, summed
  int64_t bucket = -1; // of a collective or a wait
};

struct ExecutorOptions {
  int threads = 0; // of a CPU; 0: as many as the process may use
  // Index of a GPU that the process sees; negative: LOCAL_RANK, else the rank.
  int ordinal = -1;
  // Whether to record each program at its second run and replay it as one
  // launch from then on, on devices that support it (--no-graph: false).
  bool record = true;
  // Number of ranks that --zero splits states over; 0: all. Must divide the
  // number of ranks.
  int group = 0;
  // Timeout of reductions between devices and of reductions that overtake
  // others. Other communication uses the communicator's own.
  std::chrono::milliseconds timeout{60'000};
  TuneOptions tune{}; // for devices whose libraries have several algorithms
};

// The error of a plan compiled for `compiled` ranks that `found` ranks run.
Status wrongNumberOfRanks(uint32_t compiled, uint32_t found);

// Not thread-safe: one thread creates, runs and destroys it. After the first
// run of a program, its steps allocate nothing.
//
// On a device with queues the host may be one step ahead: inputs are copied
// during the previous step, and outputs during the next one.
//
// Environment: DLC_POISON=1 fills scratch memory with NaN before every run,
// which reveals reads of memory that was never written. DLC_SYNC=1 waits for
// the device after every command, so that an error names the command.
class Executor {
public:
  // Allocates the plan's regions, zeroed, and loads `kernels` (empty: the plan
  // has no generated kernels). `communicator` may be null for a plan for one
  // rank and must outlive the executor; a plan for several ranks runs on any
  // number of ranks. Errors: Corrupt for an inconsistent plan; Incompatible for
  // another target, or for several ranks and a plan for one; Limit if memory is
  // short, with the largest tensors of the plan.
  static Result<std::unique_ptr<Executor>>
  create(plan::Plan plan, const KernelFiles &kernels,
         Communicator *communicator = nullptr,
         const ExecutorOptions &options = {});
  ~Executor();

  const plan::Plan &plan() const;
  MemoryReport memory() const;
  bool isOnHost() const; // see Device::isHost

  // Binds the commands of a program: chooses library algorithms and allocates
  // their scratch. Otherwise the first run() does it.
  Status prepare(std::string_view program);

  // Number of runs that a host which reads reports should be ahead of the run
  // it reads, so that the device never waits for it; 0 if run() computes.
  int runsAhead() const;

  // State by its name in the plan, as a view of the memory itself, which may be
  // read or written between runs. Incompatible on a device whose memory the
  // host cannot access; readState and writeState work on all devices. `bytes`
  // must be the tensor's size.
  Result<TensorView> state(std::string_view name);
  bool hasState(std::string_view name) const;
  // The same on every device: if the host cannot access the memory, a view of
  // `copy`, to which it is copied.
  Result<TensorView> fetchState(std::string_view name,
                                std::vector<std::byte> &copy);
  Status readState(std::string_view name, void *to, uint64_t bytes);
  Status writeState(std::string_view name, const void *from, uint64_t bytes);
  // States that are split over ranks (--zero) can be read as a whole where they
  // have been gathered, until the next training step, or on rank 0 what was
  // written last; otherwise reading returns Failed. All ranks must call
  // gatherState between runs; it stores the whole states on rank 0, or on all
  // ranks. Every rank writes whole states.
  Status gatherState(Communicator &communicator, bool onAllRanks = false);
  Result<StateParts *> parts(); // this rank's parts, without gathering
  void dropGathered();          // frees gathered states
  bool hasParts() const;        // whether any state is split
  // Bytes of a plan's region that this rank holds.
  uint64_t bytesOfRegion(int region) const;
  // A counter that increases whenever the host may have written state, by
  // writeState() or through a view.
  uint64_t stateWrites() const;

  // Copies an input, in the port's element type and shape. Integers are checked
  // against the port's limit (Usage). Every input must be set before every run,
  // since programs share their scratch memory.
  Status setInput(std::string_view program, std::string_view port,
                  const void *data, uint64_t bytes);

  // Runs one step. On a device with queues it returns when the step is
  // enqueued, and a later call may return the step's error. A program that the
  // plan lets the host run after it may also be in progress then; every
  // function that accesses state waits for it and returns its errors. Usage if
  // `program` is such a program itself. PeerLost if a collective failed: every
  // later run of this executor then returns the same error. With a probe,
  // commands run one at a time.
  Status run(std::string_view program, Probe *probe = nullptr);
  // Blocks until all runs have finished.
  Status synchronize();

  // Starts to copy the outputs of `program`, which must have run last, to the
  // host. Does not wait. Up to runsAhead() + 1 reports may be unread.
  Status report(std::string_view program);
  // The outputs of the oldest unread report, in the program's order; waits for
  // its run and returns the run's error. They are valid until the next report
  // or, if runsAhead() is 0, the next input. Usage if there is none.
  Result<std::span<const TensorView>> readReport(std::string_view program);

  // Seconds for which runs have waited for collectives so far; nullopt with one
  // rank, and on devices that wait without blocking the host.
  std::optional<double> secondsBlocked() const;

  // Test hook: the next run makes an f32 gradient infinite before any command
  // reads it; Usage from that run if the program has none.
  void injectInfinity();

  // Starts or stops to time every command, from zero; off by default.
  void setProfiling(bool on);
  std::vector<CommandProfile> profile() const;

private:
  class Impl;
  explicit Executor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace dlc
