// SPDX-License-Identifier: Apache-2.0
// The CPU: the default device and the reference for other devices. Commands run
// on the calling thread and the pool of Threads, done when enqueue() returns.
#pragma once

#include "runtime/base/process/SharedLibrary.h"
#include "runtime/device/Device.h"
#include "runtime/device/cpu/ThreadPool.h"
#include "runtime/plan/ops/OpLibrary.h"

namespace dlc {

// Computes items [begin, end) of a generated kernel; runtime/plan/README.md has
// the contract.
using KernelFunction = void (*)(void *const *args, int64_t begin, int64_t end);

// Scratch memory shared by all commands, since they run one at a time. Reserved
// at bind; its address is read at enqueue, since it may move.
class Workspace {
public:
  Workspace() = default;
  Workspace(const Workspace &) = delete;
  Workspace &operator=(const Workspace &) = delete;
  ~Workspace();

  // Grows it to at least this size; its contents are lost.
  Status reserve(uint64_t bytes);

  std::byte *data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

private:
  std::byte *data_ = nullptr;
  uint64_t bytes_ = 0;
};

struct Kind;

class CpuDevice final : public Device {
public:
  // 0 threads: as many as the process may use.
  explicit CpuDevice(int threads = 0) : threads_(threads) {}
  ~CpuDevice() override;

  std::string_view name() const override { return "cpu"; }
  bool isHost() const override { return true; }
  Status makeCurrent() override;
  Result<std::byte *> allocate(uint64_t bytes, std::string_view name) override;
  Status upload(std::byte *to, const void *from, uint64_t bytes) override;
  Status download(void *to, const std::byte *from, uint64_t bytes) override;
  Status fill(std::byte *to, uint8_t value, uint64_t bytes) override;
  std::byte *hostPointer(std::byte *data) override { return data; }
  Status loadKernels(const KernelFiles &files) override;
  Result<std::unique_ptr<Command>> bind(const CommandSpec &spec) override;
  Status synchronize(std::string_view) override { return {}; }
  MemoryReport memory() const override {
    return {regionBytes_, workspace_.bytes()};
  }

  // Adds kinds of commands, which must outlive the device.
  void add(std::span<const Kind> kinds) { added_ = kinds; }

  // For the files that implement kinds of commands.
  const Threads &threads() const { return threads_; }
  Workspace &workspace() { return workspace_; }
  OpLibraries &opLibraries() { return opLibraries_; }
  Result<KernelFunction> kernel(const std::string &symbol) const;

private:
  struct Mapping {
    void *data;
    uint64_t bytes;
  };

  Threads threads_;
  Workspace workspace_;
  std::vector<Mapping> regions_;
  uint64_t regionBytes_ = 0;
  PrivateLibrary kernels_;
  OpLibraries opLibraries_;
  std::span<const Kind> added_;
};

// A command that calls run(scratch) with `bytes` of the workspace.
template <class F>
Result<std::unique_ptr<Command>> commandWithScratch(CpuDevice &device,
                                                    uint64_t bytes, F run) {
  class WithScratch final : public Command {
  public:
    WithScratch(CpuDevice &device, F run)
        : device_(device), run_(std::move(run)) {}
    Status enqueue() override {
      run_(device_.workspace().data());
      return {};
    }

  private:
    CpuDevice &device_;
    F run_;
  };
  DLC_TRY(device.workspace().reserve(bytes));
  return std::make_unique<WithScratch>(device, std::move(run));
}

} // namespace dlc
