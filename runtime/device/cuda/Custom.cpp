// SPDX-License-Identifier: Apache-2.0
// custom: a user-defined operator (runtime/plan/ops/dlc_op.h), which enqueues
// on the compute stream.
#include "runtime/device/commands/Custom.h"
#include "runtime/device/cuda/Kinds.h"

namespace dlc {
namespace {

class Custom final : public Command {
public:
  Custom(const GpuContext &context, CustomCall call)
      : context_(context), call_(std::move(call)) {}
  Status enqueue() override { return call_.run(context_.compute()); }

private:
  const GpuContext &context_;
  CustomCall call_;
};

Result<std::unique_ptr<Command>> bindCustom(CudaDevice &device,
                                            const CommandSpec &spec) {
  DLC_ASSIGN(CustomCall call,
             CustomCall::make(spec, "cuda", device.opLibraries()));
  return std::make_unique<Custom>(device.context(), std::move(call));
}

constexpr GpuKind kCustomKinds[] = {{"custom", bindCustom}};

} // namespace

std::span<const GpuKind> gpuCustomKinds() { return kCustomKinds; }

} // namespace dlc
