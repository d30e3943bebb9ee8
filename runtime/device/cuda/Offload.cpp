// SPDX-License-Identifier: Apache-2.0
// offload and fetch: copies to the host's memory and back that only start;
// wait_copy: later commands wait for one of them.
#include "runtime/device/cuda/Kinds.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

using SharedCopy = std::shared_ptr<const HostCopy>;
using Direction = HostCopies::Direction;

template <Direction direction> class Start final : public Command {
public:
  Start(const CommandSpec &spec, SharedCopy copy)
      : name_(describe(spec)), copy_(std::move(copy)),
        from_(spec.inputs[0].data), to_(spec.outputs[0].data),
        bytes_(static_cast<uint64_t>(bytes(spec.inputs[0]))) {}

  Status enqueue() override {
    if constexpr (direction == Direction::ToHost)
      return copy_->toHost(to_, gpuAddress(from_), bytes_).withContext(name_);
    else
      return copy_->toDevice(gpuAddress(to_), from_, bytes_).withContext(name_);
  }

private:
  std::string name_;
  SharedCopy copy_;
  std::byte *from_, *to_;
  uint64_t bytes_;
};

class WaitCopy final : public Command {
public:
  explicit WaitCopy(SharedCopy copy) : copy_(std::move(copy)) {}
  Status enqueue() override { return copy_->wait(); }

private:
  SharedCopy copy_;
};

int64_t numberOf(const CommandSpec &spec) {
  return plan::intAttribute(spec.command, "copy", -1);
}

template <Direction direction>
Result<std::unique_ptr<Command>> bindStart(CudaDevice &device,
                                           const CommandSpec &spec) {
  DLC_TRY(expectCopy(spec));
  DLC_ASSIGN(SharedCopy copy,
             device.hostCopies().add(numberOf(spec), direction));
  return std::make_unique<Start<direction>>(spec, std::move(copy));
}

Result<std::unique_ptr<Command>> bindWait(CudaDevice &device,
                                          const CommandSpec &spec) {
  SharedCopy copy = device.hostCopies().take(numberOf(spec));
  if (!copy)
    return corrupt(spec,
                   fmt::format("copy {} has not been started", numberOf(spec)));
  return std::make_unique<WaitCopy>(std::move(copy));
}

constexpr GpuKind kOffloadKinds[] = {
    {"offload", bindStart<Direction::ToHost>},
    {"fetch", bindStart<Direction::ToDevice>},
    {"wait_copy", bindWait},
};

} // namespace

std::span<const GpuKind> gpuOffloadKinds() { return kOffloadKinds; }

} // namespace dlc
