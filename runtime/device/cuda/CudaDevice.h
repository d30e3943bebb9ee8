// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs, through the driver API. Commands are enqueued on one stream;
// only download(), synchronize() and readbacks wait for the GPU.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Libraries.h"
#include "runtime/device/cuda/Tuner.h"
#include "runtime/device/cuda/driver/CommunicationStream.h"
#include "runtime/device/cuda/driver/DeviceMemory.h"
#include "runtime/device/cuda/driver/HostCopies.h"
#include "runtime/device/cuda/driver/Modules.h"
#include "runtime/device/cuda/driver/Staging.h"
#include "runtime/plan/ops/OpLibrary.h"

namespace dlc {

class CudaDevice final : public Device {
public:
  // Opens the driver and GPU `ordinal` (GpuContext::create says which that is).
  // Libraries are opened by the first command that needs them.
  static Result<std::unique_ptr<CudaDevice>> create(int ordinal,
                                                    TuneOptions tune = {});
  ~CudaDevice() override;

  std::string_view name() const override { return name_; } // "cuda:0"
  Status makeCurrent() override { return context_->makeCurrent(); }
  Result<std::byte *> allocate(uint64_t bytes, std::string_view name) override;
  Result<std::byte *> allocateHost(uint64_t bytes) override;
  Status upload(std::byte *to, const void *from, uint64_t bytes) override;
  Status download(void *to, const std::byte *from, uint64_t bytes) override;
  Status fill(std::byte *to, uint8_t value, uint64_t bytes) override;
  std::byte *hostPointer(std::byte *) override { return nullptr; }
  Status loadKernels(const KernelFiles &files) override;
  Result<std::unique_ptr<Command>> bind(const CommandSpec &spec) override;
  Status synchronize(std::string_view work = {}) override;
  bool canRecord() const override;
  Status beginRecording() override;
  Result<std::unique_ptr<Command>> endRecording() override;
  CommunicationQueue *communicationQueue() override { return &communication_; }
  Result<std::unique_ptr<InputFeed>> inputFeed(uint64_t bytes) override;
  Result<std::unique_ptr<Readback>>
  readback(std::span<const Operand> ranges) override;
  MemoryReport memory() const override { return memory_.report(); }

  // For the files that implement kinds of commands.
  const GpuContext &context() const { return *context_; }
  GpuMemory &memoryPool() { return memory_; }
  const GpuModules &modules() const { return modules_; }
  HostCopies &hostCopies() { return hostCopies_; }
  OpLibraries &opLibraries() { return opLibraries_; }
  Libraries &libraries() { return libraries_; }
  const Tuner &tuner() const { return tuner_; }

private:
  CudaDevice(std::unique_ptr<GpuContext> context, TuneOptions tune);

  std::unique_ptr<GpuContext> context_; // first: the others use it
  std::string name_;
  GpuMemory memory_;
  GpuModules modules_;
  OpLibraries opLibraries_;
  CommunicationStream communication_;
  HostCopies hostCopies_;
  Libraries libraries_;
  Tuner tuner_;
  std::unique_ptr<Staging> staging_;
};

inline CUdeviceptr gpuAddress(const std::byte *data) {
  return reinterpret_cast<CUdeviceptr>(data);
}

} // namespace dlc
