// SPDX-License-Identifier: Apache-2.0
// A third device: what the registries and the runtime promise one, tried
// without hardware. Its memory is not the host's: addresses are of no use to
// anybody but the device. The CPU does its work.
#pragma once

#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/exec/Devices.h"

namespace dlc::test {

class FakeDevice final : public Device {
public:
  explicit FakeDevice(int threads) : cpu_(threads) {}

  std::string_view name() const override { return "fake"; }
  Status makeCurrent() override { return cpu_.makeCurrent(); }
  Result<std::byte *> allocate(uint64_t bytes, std::string_view name) override;
  Status upload(std::byte *to, const void *from, uint64_t bytes) override;
  Status download(void *to, const std::byte *from, uint64_t bytes) override;
  Status fill(std::byte *to, uint8_t value, uint64_t bytes) override;
  std::byte *hostPointer(std::byte *) override { return nullptr; }
  Status loadKernels(const KernelFiles &files) override {
    return cpu_.loadKernels(files);
  }
  Result<std::unique_ptr<Command>> bind(const CommandSpec &spec) override;
  Status synchronize(std::string_view) override { return {}; }
  MemoryReport memory() const override { return cpu_.memory(); }

private:
  CpuDevice cpu_;
};

Result<std::unique_ptr<Device>> makeFakeDevice(const DeviceRequest &request);

} // namespace dlc::test
