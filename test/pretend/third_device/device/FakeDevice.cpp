// SPDX-License-Identifier: Apache-2.0
#include "test/pretend/third_device/device/FakeDevice.h"

namespace dlc::test {
namespace {

// No process has memory there: who reads an address of the device dies.
constexpr ptrdiff_t kBeyond = ptrdiff_t(1) << 47;

std::byte *ours(const std::byte *address) {
  return const_cast<std::byte *>(address) - (address ? kBeyond : 0);
}

std::vector<Operand> ours(std::vector<Operand> operands) {
  for (Operand &operand : operands)
    operand.data = ours(operand.data);
  return operands;
}

} // namespace

Result<std::byte *> FakeDevice::allocate(uint64_t bytes,
                                         std::string_view name) {
  DLC_ASSIGN(std::byte *const data, cpu_.allocate(bytes, name));
  return data + kBeyond;
}

Status FakeDevice::upload(std::byte *to, const void *from, uint64_t bytes) {
  return cpu_.upload(ours(to), from, bytes);
}

Status FakeDevice::download(void *to, const std::byte *from, uint64_t bytes) {
  return cpu_.download(to, ours(from), bytes);
}

Status FakeDevice::fill(std::byte *to, uint8_t value, uint64_t bytes) {
  return cpu_.fill(ours(to), value, bytes);
}

Result<std::unique_ptr<Command>> FakeDevice::bind(const CommandSpec &spec) {
  return cpu_.bind({spec.command, ours(spec.inputs), ours(spec.outputs)});
}

Result<std::unique_ptr<Device>> makeFakeDevice(const DeviceRequest &request) {
  return std::unique_ptr<Device>(std::make_unique<FakeDevice>(request.threads));
}

} // namespace dlc::test
