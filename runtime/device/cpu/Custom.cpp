// SPDX-License-Identifier: Apache-2.0
// custom: a user-defined operator (runtime/plan/ops/dlc_op.h).
#include "runtime/device/commands/Custom.h"
#include "runtime/device/cpu/Kinds.h"

namespace dlc {
namespace {

class Custom final : public Command {
public:
  explicit Custom(CustomCall call) : call_(std::move(call)) {}
  Status enqueue() override { return call_.run(nullptr); }

private:
  CustomCall call_;
};

Result<std::unique_ptr<Command>> bindCustom(CpuDevice &device,
                                            const CommandSpec &spec) {
  DLC_ASSIGN(CustomCall call,
             CustomCall::make(spec, "cpu", device.opLibraries()));
  return std::make_unique<Custom>(std::move(call));
}

constexpr Kind kCustomKinds[] = {{"custom", bindCustom}};

} // namespace

std::span<const Kind> customKinds() { return kCustomKinds; }

} // namespace dlc
