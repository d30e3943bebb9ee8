// SPDX-License-Identifier: Apache-2.0
// copy: the same bytes at another address; and zeros, the value of empty sums.
#include "runtime/device/cuda/Kinds.h"

namespace dlc {
namespace {

class Copy final : public Command {
public:
  Copy(const GpuContext &context, const CommandSpec &spec)
      : context_(context), name_(describe(spec)),
        from_(gpuAddress(spec.inputs[0].data)),
        to_(gpuAddress(spec.outputs[0].data)),
        bytes_(static_cast<uint64_t>(bytes(spec.inputs[0]))) {}

  Status enqueue() override {
    if (from_ == to_ || bytes_ == 0)
      return {};
    return context_.check(context_.driver().cuMemcpyDtoDAsync(
                              to_, from_, bytes_, context_.compute()),
                          name_);
  }

private:
  const GpuContext &context_;
  std::string name_;
  CUdeviceptr from_, to_;
  uint64_t bytes_;
};

class Zeros final : public Command {
public:
  Zeros(const GpuContext &context, const CommandSpec &spec)
      : context_(context), name_(describe(spec)), outputs_(spec.outputs) {}

  Status enqueue() override {
    for (const Operand &output : outputs_)
      if (const auto size = static_cast<uint64_t>(bytes(output)))
        DLC_TRY(context_.check(
            context_.driver().cuMemsetD8Async(gpuAddress(output.data), 0, size,
                                              context_.compute()),
            name_));
    return {};
  }

private:
  const GpuContext &context_;
  std::string name_;
  std::vector<Operand> outputs_;
};

Result<std::unique_ptr<Command>> bindCopy(CudaDevice &device,
                                          const CommandSpec &spec) {
  DLC_TRY(expectCopy(spec));
  return std::make_unique<Copy>(device.context(), spec);
}

constexpr GpuKind kCopyKinds[] = {{"copy", bindCopy}};

} // namespace

std::span<const GpuKind> gpuCopyKinds() { return kCopyKinds; }

std::unique_ptr<Command> bindZeros(CudaDevice &device,
                                   const CommandSpec &spec) {
  return std::make_unique<Zeros>(device.context(), spec);
}

} // namespace dlc
