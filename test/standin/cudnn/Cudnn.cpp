// A fake at our interface to cuDNN: convolutions are work on a stream of the
// stand-in driver, done by the CPU backend's convolutions.
#include "runtime/device/cuda/Cudnn.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/plan/Types.h"
#include "test/standin/Standin.h"

#include <cstdio>
#include <memory>

using namespace dlc;
using namespace dlc::standin;

namespace {

CUresult run(void *data) {
  static CpuDevice device(1); // one thread plays the GPU
  auto command = device.bind(*static_cast<CommandSpec *>(data));
  if (command.ok() && (*command)->enqueue().ok())
    return CUDA_SUCCESS;
  std::fprintf(stderr, "stand-in cuDNN: %s\n",
               command.status().message().c_str());
  return CUDA_ERROR_LAUNCH_FAILED;
}

class Graph final : public CudnnGraph {
public:
  explicit Graph(const CommandSpec &spec) : spec_(spec) {
    name_ = "cudnn " + spec.command.kind();
    for (const Operand &operand : spec.inputs)
      accesses_.push_back(accessOf(operand, false));
    for (const Operand &operand : spec.outputs)
      accesses_.push_back(accessOf(operand, true));
  }

  uint64_t workspaceBytes() const override { return 4096; }

  Status enqueue(CUdeviceptr workspace, CUstream stream) override {
    const auto *driver = standin::standin();
    if (!workspace)
      return failed("no workspace");
    std::vector<Access> accesses = accesses_;
    accesses.push_back(
        {reinterpret_cast<void *>(workspace), workspaceBytes(), true});
    const Work work{name_.c_str(),
                    run,
                    new CommandSpec(spec_),
                    [](void *data) { delete static_cast<CommandSpec *>(data); },
                    accesses.data(),
                    static_cast<int>(accesses.size())};
    return driver && driver->enqueue(stream, work) == CUDA_SUCCESS
               ? Status()
               : failed("the stand-in driver refused it");
  }

private:
  static Access accessOf(const Operand &operand, bool writes) {
    return {operand.data, plan::bytesOf(*operand.type).value_or(0), writes};
  }
  CommandSpec spec_;
  std::string name_;
  std::vector<Access> accesses_;
};

class Fake final : public Cudnn {
public:
  size_t version() const override { return 91900; }
  Result<std::unique_ptr<CudnnGraph>> convolution(const CommandSpec &spec,
                                                  const Conv &) override {
    if (const auto *driver = standin::standin())
      driver->note(("plan cudnn " + spec.command.kind()).c_str());
    return std::unique_ptr<CudnnGraph>(std::make_unique<Graph>(spec));
  }
};

} // namespace

extern "C" Cudnn *dlcCudnn() { return new Fake; }
