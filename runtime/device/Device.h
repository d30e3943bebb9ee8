// SPDX-License-Identifier: Apache-2.0
// The device interface. It does not know kinds of commands: a command is bound
// by its kind.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/KernelFiles.h"
#include "runtime/plan/plan.pb.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

// One buffer of a command: its address on the device and its type, which
// outlives the command.
struct Operand {
  std::byte *data = nullptr;
  const plan::TensorType *type = nullptr;
};

// A plan command with resolved buffers. The plan and the memory outlive the
// bound command.
struct CommandSpec {
  const plan::Command &command;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
};

// A command bound to its buffers: its algorithm is chosen and all its memory
// allocated.
class Command {
public:
  virtual ~Command() = default;

  // Starts the work after all work enqueued before on this device. Allocates
  // nothing and may be captured in a graph, so it never waits for the device.
  // On a device that runs on the calling thread the work is done on return. An
  // error names the command's label.
  virtual Status enqueue() = 0;
};

// A second queue of a device, for communication in parallel with computation.
// Points order the two queues. Nothing here waits for the device; all functions
// except the last three may be recorded. completed() and passed() are for any
// thread, the others for the enqueuing thread.
class CommunicationQueue {
public:
  virtual ~CommunicationQueue() = default;

  // Unique identifier among all machines: "GPU-" and its UUID.
  virtual std::string device() const = 0;
  // The queue handle for a communicator: a CUstream.
  virtual void *handle() const = 0;

  // Made at bind; belongs to the queue.
  virtual Result<int> addPoint() = 0;
  // Later work on this queue waits for all earlier computation.
  virtual Status fork(int point) = 0;
  // Marks the work enqueued on this queue; afterwards join() may be called.
  virtual Status mark(int point) = 0;
  // Later computation waits for the marked work.
  virtual Status join(int point) = 0;

  // Numbers all work enqueued so far on both queues: 1, 2, 3 ...
  virtual Result<uint64_t> stamp() = 0;
  // The largest number whose work is completed.
  virtual Result<uint64_t> completed() = 0;
  // The number of points whose last fork() the computation has passed; 0 after
  // forks were recorded. For any thread.
  virtual uint64_t passed() = 0;
};

// Copies of inputs to a device, in parallel with its computation: the inputs of
// a run are copied during the run before.
class InputFeed {
public:
  virtual ~InputFeed() = default;

  // Copies bytes for the next run to the buffer at `offset`, from where they
  // are delivered; `from` may be reused on return. Waits at most for the copies
  // of the run before the last.
  virtual Status put(uint64_t offset, const void *from, uint64_t bytes) = 0;

  struct Piece {
    uint64_t offset;
    std::byte *to;
    uint64_t bytes;
  };
  // Later computation finds these pieces at their addresses; the rest is
  // dropped. Waits for nothing.
  virtual Status deliver(std::span<const Piece> pieces) = 0;
};

// Copies of results to the host, in parallel with computation; the host reads
// them later, in the order of the runs.
class Readback {
public:
  static constexpr int kUnread = 2; // at most: a host is one run ahead

  virtual ~Readback() = default;

  // Copies the ranges after all work enqueued so far; later work may overwrite
  // them. Waits for nothing and allocates nothing.
  virtual Status post() = 0;
  // The host addresses of the ranges of the oldest uncollected post(), valid
  // until the next post(); waits for the copies.
  virtual Result<std::span<std::byte *const>> collect() = 0;
};

// Bytes that a device holds for this process.
struct MemoryReport {
  uint64_t regions = 0;   // allocate()
  uint64_t workspace = 0; // scratch that bound commands share
  uint64_t host = 0;      // pinned host memory that copies pass through
};

// One device of one process. Not thread-safe: one thread binds and enqueues.
// Memory and bound commands belong to the device and must not outlive it.
class Device {
public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0; // "cpu"

  // Whether the device is the host: its memory is host memory, and there is
  // nothing to tune.
  virtual bool isHost() const { return false; }

  // Prepares the calling thread to bind and enqueue; call it at the start of
  // every step.
  virtual Status makeCurrent() = 0;

  // `bytes` of zeroed, 64-byte aligned memory, which lives as long as the
  // device. `name` is for the error message: Code::Limit when memory is
  // exhausted.
  virtual Result<std::byte *> allocate(uint64_t bytes,
                                       std::string_view name) = 0;

  // `bytes` of the host's memory, from where the device copies in parallel with
  // its commands (offload, fetch); it lives as long as the device. Code::Limit
  // when the system has no such memory, Incompatible on a host.
  virtual Result<std::byte *> allocateHost(uint64_t bytes) {
    return incompatible("{} cannot offload {} bytes: its memory is the host's",
                        name(), bytes);
  }

  // Copies between host and device memory, ordered with enqueued work. The host
  // range may be reused on return.
  virtual Status upload(std::byte *to, const void *from, uint64_t bytes) = 0;
  virtual Status download(void *to, const std::byte *from, uint64_t bytes) = 0;
  virtual Status fill(std::byte *to, uint8_t value, uint64_t bytes) = 0;

  // The host's address of the memory; null if it cannot access it.
  virtual std::byte *hostPointer(std::byte *data) = 0;

  // Loads the generated kernels that `kernel` commands name; at most once,
  // before the first of them is bound. Later changes of the files have no
  // effect.
  virtual Status loadKernels(const KernelFiles &files) = 0;

  // Code::Incompatible for a kind, element type or attribute that the device
  // does not support; Code::Corrupt for an inconsistent command (operand count,
  // shapes, a missing symbol).
  virtual Result<std::unique_ptr<Command>> bind(const CommandSpec &spec) = 0;

  // Blocks until all enqueued work is done, and returns its error, if any,
  // which names `work`; the default text says how to find the failing command.
  virtual Status synchronize(std::string_view work = {}) = 0;

  // Between these two calls work is recorded, not executed. The command that
  // endRecording() returns executes all of it in one launch, repeatedly.
  // Incompatible on a device without recording; after an error the device works
  // as before beginRecording().
  virtual bool canRecord() const { return false; }
  virtual Status beginRecording() {
    return incompatible("{} cannot record commands", name());
  }
  virtual Result<std::unique_ptr<Command>> endRecording() {
    return incompatible("{} cannot record commands", name());
  }

  // Null on a device whose commands are done when enqueue() returns.
  virtual CommunicationQueue *communicationQueue() { return nullptr; }

  // Null on a device whose commands are done when enqueue() returns. The feed
  // has room for `bytes`, a run's inputs.
  virtual Result<std::unique_ptr<InputFeed>> inputFeed(uint64_t) {
    return std::unique_ptr<InputFeed>();
  }
  virtual Result<std::unique_ptr<Readback>> readback(std::span<const Operand>) {
    return std::unique_ptr<Readback>();
  }

  virtual MemoryReport memory() const = 0;
};

} // namespace dlc
