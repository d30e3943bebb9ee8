// SPDX-License-Identifier: Apache-2.0
// kernel: a function of kernels.so that the compiler generated.
#include "runtime/device/commands/Checks.h"
#include "runtime/device/cpu/Kinds.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

class Kernel final : public Command {
public:
  Kernel(const Threads &threads, KernelFunction function,
         const CommandSpec &spec)
      : threads_(threads), function_(function),
        first_(plan::intAttribute(spec.command, "first", 0)),
        extent_(plan::intAttribute(spec.command, "extent", 1)),
        grain_(plan::intAttribute(spec.command, "grain", 1)) {
    for (const Operand &operand : spec.inputs)
      args_.push_back(operand.data);
    for (const Operand &operand : spec.outputs)
      args_.push_back(operand.data);
  }

  Status enqueue() override {
    threads_.parallelFor(extent_, grain_, [&](int64_t begin, int64_t end) {
      function_(args_.data(), first_ + begin, first_ + end);
    });
    return {};
  }

private:
  const Threads &threads_;
  KernelFunction function_;
  int64_t first_; // first item of this rank
  int64_t extent_;
  int64_t grain_;
  std::vector<void *> args_;
};

Result<std::unique_ptr<Command>> bindKernel(CpuDevice &device,
                                            const CommandSpec &spec) {
  if (plan::intAttribute(spec.command, "extent", 1) < 0 ||
      plan::intAttribute(spec.command, "grain", 1) < 1)
    return corrupt(spec, "extent must be at least 0 and grain at least 1");
  auto function =
      device.kernel(plan::stringAttribute(spec.command, "symbol", ""));
  if (!function)
    return function.status();
  return std::make_unique<Kernel>(device.threads(), *function, spec);
}

constexpr Kind kKernelKinds[] = {{"kernel", bindKernel}};

} // namespace

std::span<const Kind> kernelKinds() { return kKernelKinds; }

} // namespace dlc
