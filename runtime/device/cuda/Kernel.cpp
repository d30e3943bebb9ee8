// kernel: a function of the generated modules. Its parameters are the addresses
// of inputs, then outputs.
#include "runtime/device/cuda/Kinds.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

struct Shape3 {
  unsigned x = 1, y = 1, z = 1;
};

class Kernel final : public Command {
public:
  Kernel(const GpuContext &context, const CommandSpec &spec,
         CUfunction function, Shape3 grid, Shape3 block, unsigned shared)
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
    return context_.check(context_.driver().cuLaunchKernel(
                              function_, grid_.x, grid_.y, grid_.z, block_.x,
                              block_.y, block_.z, shared_, context_.compute(),
                              parameters_.data(), nullptr),
                          name_);
  }

private:
  const GpuContext &context_;
  std::string name_;
  CUfunction function_;
  Shape3 grid_, block_;
  unsigned shared_;
  std::vector<CUdeviceptr> pointers_;
  std::vector<void *> parameters_;
};

// What a launch may be on every GPU that we compile for.
constexpr int64_t kMostThreads = 1024;
constexpr int64_t kMostBlocks[] = {(int64_t(1) << 31) - 1, 65535, 65535};

Result<Shape3> shapeOf(const CommandSpec &spec, const char *name) {
  const std::vector<int64_t> sizes =
      plan::intsAttribute(spec.command, name, {1});
  const bool isGrid = std::string_view(name) == "grid";
  int64_t threads = 1;
  bool valid = !sizes.empty() && sizes.size() <= 3;
  for (size_t i = 0; valid && i < sizes.size(); ++i) {
    valid =
        sizes[i] >= 1 && sizes[i] <= (isGrid ? kMostBlocks[i] : kMostThreads);
    threads *= isGrid ? 1 : sizes[i];
  }
  if (!valid || threads > kMostThreads)
    return corrupt(spec, fmt::format("{} is [{}], expected 1 to 3 sizes that a "
                                     "GPU can launch",
                                     name, fmt::join(sizes, ", ")));
  Shape3 shape;
  unsigned *const fields[] = {&shape.x, &shape.y, &shape.z};
  for (size_t i = 0; i < sizes.size(); ++i)
    *fields[i] = static_cast<unsigned>(sizes[i]);
  return shape;
}

Result<std::unique_ptr<Command>> bindKernel(CudaDevice &device,
                                            const CommandSpec &spec) {
  DLC_ASSIGN(const Shape3 grid, shapeOf(spec, "grid"));
  DLC_ASSIGN(const Shape3 block, shapeOf(spec, "block"));
  const int64_t shared = plan::intAttribute(spec.command, "shared", 0);
  const GpuContext &context = device.context();
  if (shared < 0)
    return corrupt(spec,
                   fmt::format("shared is {}, expected at least 0", shared));
  if (shared > context.properties().sharedPerBlock)
    return incompatible(
        spec, fmt::format("wants {} bytes of shared memory for a block, {} has "
                          "{}",
                          shared, context.properties().name,
                          context.properties().sharedPerBlock));
  auto function = device.modules().function(
      plan::stringAttribute(spec.command, "symbol", ""), shared);
  if (!function)
    return function.status();
  return std::make_unique<Kernel>(context, spec, *function, grid, block,
                                  static_cast<unsigned>(shared));
}

constexpr GpuKind kKinds[] = {{"kernel", bindKernel}};

} // namespace

std::span<const GpuKind> gpuKernelKinds() { return kKinds; }

} // namespace dlc
