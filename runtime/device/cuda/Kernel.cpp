// SPDX-License-Identifier: Apache-2.0
// kernel: a function of the generated modules. Its parameters are the addresses
// of inputs, then outputs; and, if ranks split it (attribute vector) or it sums
// a rank's part (attribute parts), the number of elements.
#include "runtime/base/numbers/Checked.h"
#include "runtime/device/cuda/Kinds.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

class Kernel final : public Command {
public:
  Kernel(const GpuContext &context, const CommandSpec &spec,
         CUfunction function, unsigned grid, unsigned block, unsigned shared,
         std::optional<int64_t> count)
      : context_(context), name_(describe(spec)), function_(function),
        grid_(grid), block_(block), shared_(shared), count_(count.value_or(0)) {
    // A rank without a part reads nothing, and its address may be invalid.
    for (const Operand &operand : spec.inputs)
      pointers_.push_back(count == 0 ? 0 : gpuAddress(operand.data));
    for (const Operand &operand : spec.outputs)
      pointers_.push_back(gpuAddress(operand.data));
    for (CUdeviceptr &pointer : pointers_)
      parameters_.push_back(&pointer);
    if (count)
      parameters_.push_back(&count_);
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
  int64_t count_;
  std::vector<CUdeviceptr> pointers_;
  std::vector<void *> parameters_;
};

// Limits of launches on every GPU that dlc compiles for.
constexpr int64_t kMostBlocks = (int64_t(1) << 31) - 1, kMostThreads = 1024;

// Largest number of elements per thread of a split kernel; bytes of an access.
constexpr int64_t kMostVector = 8;
constexpr uint64_t kAccess = 16;

// An attribute, which must be in [least, most].
Result<unsigned> sizeOf(const CommandSpec &spec, const char *name,
                        int64_t least, int64_t most) {
  const int64_t size = plan::intAttribute(spec.command, name, -1);
  if (size < least || size > most)
    return corrupt(spec, fmt::format("{} is {}, expected {} to {}", name, size,
                                     least, most));
  return static_cast<unsigned>(size);
}

// A rank's part of such a kernel's elements.
struct Elements {
  int64_t count;
  unsigned grid; // at most the command's, over all ranks
};

Result<Elements> elementsOf(const CommandSpec &spec, unsigned grid,
                            unsigned block) {
  DLC_ASSIGN(const unsigned vector, sizeOf(spec, "vector", 1, kMostVector));
  std::optional<uint64_t> count;
  for (const auto *operands : {&spec.inputs, &spec.outputs})
    for (const Operand &operand : *operands) {
      const auto &shape = operand.type->shape();
      if (shape.empty())
        continue;
      const std::optional<uint64_t> own = checkedElements(shape);
      if (!own || (count && count != own))
        return corrupt(spec, "operands of a kernel of parts differ in size");
      if (gpuAddress(operand.data) % kAccess)
        return corrupt(spec, "a part begins between two vectors");
      count = own;
    }
  const uint64_t threads =
                     count.value_or(0) / vector + count.value_or(0) % vector,
                 blocks = (threads + block - 1) / block;
  // Only the last rank has elements that do not fill a vector: few.
  if (blocks > uint64_t(grid) + 1)
    return corrupt(spec, fmt::format("{} blocks, expected at most {}", blocks,
                                     uint64_t(grid) + 1));
  return Elements{static_cast<int64_t>(count.value_or(0)),
                  static_cast<unsigned>(blocks)};
}

// Number of elements in the part that such a kernel sums.
Result<int64_t> summedBy(const CommandSpec &spec) {
  const std::optional<uint64_t> count =
      spec.inputs.size() == 1 ? checkedElements(spec.inputs[0].type->shape())
                              : std::nullopt;
  if (!count || (*count && gpuAddress(spec.inputs[0].data) % kAccess))
    return corrupt(spec, "a sum of a part has no such part");
  return static_cast<int64_t>(*count);
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
  std::optional<int64_t> count;
  unsigned blocks = grid;
  if (plan::findAttribute(spec.command, "vector")) {
    DLC_ASSIGN(const Elements elements, elementsOf(spec, grid, block));
    count = elements.count;
    blocks = elements.grid;
  } else if (plan::intAttribute(spec.command, "parts", 0)) {
    DLC_ASSIGN(count, summedBy(spec));
  }
  return std::make_unique<Kernel>(context, spec, *function, blocks, block,
                                  static_cast<unsigned>(shared), count);
}

constexpr GpuKind kKernelKinds[] = {{"kernel", bindKernel}};

} // namespace

std::span<const GpuKind> gpuKernelKinds() { return kKernelKinds; }

} // namespace dlc
