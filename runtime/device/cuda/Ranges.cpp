// SPDX-License-Identifier: Apache-2.0
// Without a profiler the functions of NVTX, a header-only library, do nothing.
#include "runtime/device/cuda/Ranges.h"
#include "runtime/device/commands/Checks.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

namespace dlc {
namespace {

class Ranged final : public Command {
public:
  Ranged(std::string name, std::unique_ptr<Command> command)
      : name_(std::move(name)), command_(std::move(command)) {}

  Status enqueue() override {
    nvtxRangePushA(name_.c_str());
    Status status = command_->enqueue();
    nvtxRangePop();
    return status;
  }

private:
  const std::string name_;
  const std::unique_ptr<Command> command_;
};

} // namespace

Result<std::unique_ptr<Command>> inRange(const CommandSpec &spec,
                                         std::unique_ptr<Command> command) {
  return std::unique_ptr<Command>(
      std::make_unique<Ranged>(describe(spec), std::move(command)));
}

} // namespace dlc
#else

namespace dlc {

Result<std::unique_ptr<Command>> inRange(const CommandSpec &,
                                         std::unique_ptr<Command>) {
  return incompatible("DLC_NVTX=1: this build has no NVTX, since the CUDA "
                      "Toolkit that it was made with had no nvtx3");
}

} // namespace dlc
#endif
