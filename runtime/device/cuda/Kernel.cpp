// kernel: a function of the generated modules. Its parameters are the addresses
// of inputs, then outputs.
#include "runtime/device/cuda/Kinds.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

class Kernel final : public Command {
public:
  Kernel(const GpuContext &context, const CommandSpec &spec,
         CUfunction function, unsigned grid, unsigned block, unsigned shared)
      : context_(context), name_(describe(spec)), function_(function),
        grid_(grid), block_(block), shared_(shared) {
    for (const Operand &operand : spec.inputs)
      pointers_.push_back(gpuAddress(operand.data));
    for (const Operand &operand : spec.outputs)
      pointers_.push_back(gpuAddress(operand.data));
    for (CUdeviceptr &pointer : pointers_)
      parameters_.push_back(&pointer);
  }

  Status enqueue() override {
    if (grid_ == 0)
      return {};
    return context_.check(context_.driver().cuLaunchKernel(
                              function_, grid_, 1, 1, block_, 1, 1, shared_,
                              context_.compute(), parameters_.data(), nullptr),
                          name_);
  }

private:
  const GpuContext &context_;
  std::string name_;
  CUfunction function_;
  unsigned grid_, block_, shared_;
  std::vector<CUdeviceptr> pointers_;
  std::vector<void *> parameters_;
};

// What a launch may be on every GPU that we compile for.
constexpr int64_t kMostBlocks = (int64_t(1) << 31) - 1, kMostThreads = 1024;

// An attribute that has to be in [least, most].
Result<unsigned> sizeOf(const CommandSpec &spec, const char *name,
                        int64_t least, int64_t most) {
  const int64_t size = plan::intAttribute(spec.command, name, -1);
  if (size < least || size > most)
    return corrupt(spec, fmt::format("{} is {}, expected {} to {}", name, size,
                                     least, most));
  return static_cast<unsigned>(size);
}

Result<std::unique_ptr<Command>> bindKernel(CudaDevice &device,
                                            const CommandSpec &spec) {
  DLC_ASSIGN(const unsigned grid, sizeOf(spec, "grid", 0, kMostBlocks));
  DLC_ASSIGN(const unsigned block, sizeOf(spec, "block", 1, kMostThreads));
  const int64_t shared = plan::intAttribute(spec.command, "shared", 0);
  const GpuContext &context = device.context();
  if (shared < 0)
    return corrupt(spec,
                   fmt::format("shared is {}, expected at least 0", shared));
  auto function = device.modules().function(
      plan::stringAttribute(spec.command, "symbol", ""), block, shared);
  if (!function)
    return function.status().withContext(describe(spec));
  return std::make_unique<Kernel>(context, spec, *function, grid, block,
                                  static_cast<unsigned>(shared));
}

constexpr GpuKind kKernelKinds[] = {{"kernel", bindKernel}};

} // namespace

std::span<const GpuKind> gpuKernelKinds() { return kKernelKinds; }

} // namespace dlc
