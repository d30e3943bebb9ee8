// SPDX-License-Identifier: Apache-2.0
// What the runtime asks of a device. Nothing here knows what a convolution is:
// a command is bound by its kind.
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

// One buffer of a command: where it is on the device and what it holds. The
// type outlives the command.
struct Operand {
  std::byte *data = nullptr;
  const plan::TensorType *type = nullptr;
};

// A plan command with its buffers resolved. The plan and the memory outlive the
// bound command.
struct CommandSpec {
  const plan::Command &command;
  std::vector<Operand> inputs;
  std::vector<Operand> outputs;
};

// A command bound to its buffers: algorithm chosen, everything it needs
// allocated.
class Command {
public:
  virtual ~Command() = default;

  // Starts the work after all work enqueued before on this device. It allocates
  // nothing and may be captured in a graph, so it never waits for the device
  // either. On a device that runs on the calling thread the work is done when
  // it returns. An error names the command's label.
  virtual Status enqueue() = 0;
};

// A second queue of a device, for communication beside computation. Points
// order the two queues. Nothing here waits for the device; all may be recorded
// except the last three. completed() and passed() are for any thread, the rest
// for the thread that enqueues.
class CommunicationQueue {
public:
  virtual ~CommunicationQueue() = default;

  // What no other device has, on any machine: "GPU-" and its UUID.
  virtual std::string device() const = 0;
  // What a communicator of the device enqueues on: a CUstream.
  virtual void *handle() const = 0;

  // Made at bind; belongs to the queue.
  virtual Result<int> addPoint() = 0;
  // What is enqueued here from now on waits for all computation before.
  virtual Status fork(int point) = 0;
  // Remembers what was enqueued here; after it, join() may be called.
  virtual Status mark(int point) = 0;
  // Computation from now on waits for what was remembered.
  virtual Status join(int point) = 0;

  // Numbers all work enqueued so far on both queues: 1, 2, 3 ...
  virtual Result<uint64_t> stamp() = 0;
  // The largest number whose work is done.
  virtual Result<uint64_t> completed() = 0;
  // How many points' last fork() the computation has passed; 0 once forks were
  // recorded. For any thread.
  virtual uint64_t passed() = 0;
};

// Inputs on their way to a device, whose copies run beside its computation: the
// inputs of a run travel while the run before goes on.
class InputFeed {
public:
  virtual ~InputFeed() = default;

  // Sends bytes of the next run, which are kept at `offset` until they are
  // delivered; `from` may be reused on return. Waits at most for the copies of
  // the run before the last.
  virtual Status put(uint64_t offset, const void *from, uint64_t bytes) = 0;

  struct Piece {
    uint64_t offset;
    std::byte *to;
    uint64_t bytes;
  };
  // Computation that is enqueued from now on finds these pieces of what was put
  // at their places; the rest is dropped. Waits for nothing.
  virtual Status deliver(std::span<const Piece> pieces) = 0;
};

// Results on their way to the host beside computation, which reads them when it
// likes, in the order of the runs.
class Readback {
public:
  static constexpr int kUnread = 2; // at most: a host is one run ahead

  virtual ~Readback() = default;

  // Sends the ranges as they are after all work enqueued so far; work that is
  // enqueued later may write them. Waits for nothing and allocates nothing.
  virtual Status post() = 0;
  // Where each range of the oldest post() that was not collected is on the
  // host, until the next post(); waits until it is there.
  virtual Result<std::span<std::byte *const>> collect() = 0;
};

// Bytes that a device holds for this process.
struct MemoryReport {
  uint64_t regions = 0;   // allocate()
  uint64_t workspace = 0; // scratch that bound commands share
  uint64_t host = 0;      // pinned host memory that copies pass through
};

// One device as one process sees it. Not thread-safe: one thread binds and
// enqueues. Memory and bound commands belong to the device and must not outlive
// it.
class Device {
public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0; // "cpu"

  // It is the host: its memory is the host's, and it has nothing to tune.
  virtual bool isHost() const { return false; }

  // Prepares the calling thread to bind and enqueue; call it at the start of
  // every step.
  virtual Status makeCurrent() = 0;

  // `bytes` of zeroed, 64-byte aligned memory that lives as long as the device.
  // `name` is for the error message: Code::Limit when the device has not
  // enough.
  virtual Result<std::byte *> allocate(uint64_t bytes,
                                       std::string_view name) = 0;

  // Copies between host and device memory, ordered with enqueued work. The host
  // range may be reused on return.
  virtual Status upload(std::byte *to, const void *from, uint64_t bytes) = 0;
  virtual Status download(void *to, const std::byte *from, uint64_t bytes) = 0;
  virtual Status fill(std::byte *to, uint8_t value, uint64_t bytes) = 0;

  // The same memory as the host sees it, or null if it cannot.
  virtual std::byte *hostPointer(std::byte *data) = 0;

  // Loads the generated kernels that `kernel` commands name; at most once,
  // before the first of them is bound. What happens to the files later does
  // not matter.
  virtual Status loadKernels(const KernelFiles &files) = 0;

  // Code::Incompatible for a kind, element type or attribute that the device
  // has no code for; Code::Corrupt for a command that contradicts itself
  // (operand count, shapes, a missing symbol).
  virtual Result<std::unique_ptr<Command>> bind(const CommandSpec &spec) = 0;

  // Returns when all enqueued work is done, with its error if it had one, which
  // names `work`; by default it says how to find what failed.
  virtual Status synchronize(std::string_view work = {}) = 0;

  // Between these two calls work is recorded, not done. The command that
  // endRecording() returns does all of it in one launch, again and again.
  // Incompatible on a device that cannot; after an error the device works as
  // before beginRecording().
  virtual bool canRecord() const { return false; }
  virtual Status beginRecording() {
    return incompatible("{} cannot record commands", name());
  }
  virtual Result<std::unique_ptr<Command>> endRecording() {
    return incompatible("{} cannot record commands", name());
  }

  // Null on a device whose commands are done when enqueue() returns.
  virtual CommunicationQueue *communicationQueue() { return nullptr; }

  // Both null on such a device, which has nothing under way.
  // With room for `bytes`, the inputs of a run.
  virtual Result<std::unique_ptr<InputFeed>> inputFeed(uint64_t) {
    return std::unique_ptr<InputFeed>();
  }
  virtual Result<std::unique_ptr<Readback>> readback(std::span<const Operand>) {
    return std::unique_ptr<Readback>();
  }

  virtual MemoryReport memory() const = 0;
};

} // namespace dlc
