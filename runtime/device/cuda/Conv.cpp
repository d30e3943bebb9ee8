// conv, conv_backward_data, conv_backward_filter: by cuDNN.
#include "runtime/device/cuda/Cudnn.h"
#include "runtime/device/cuda/Kinds.h"
#include "runtime/plan/Attributes.h"

namespace dlc {

Result<Conv> convolutionOf(const CommandSpec &spec) {
  const std::string &kind = spec.command.kind();
  const int hasBias =
      kind == "conv" && plan::intAttribute(spec.command, "has_bias", 0) != 0;
  DLC_TRY(expectOperands(spec, static_cast<size_t>(2 + hasBias), 1));
  DLC_TRY(expectFloats(spec));
  const Operand &a = spec.inputs[0], &b = spec.inputs[1], &y = spec.outputs[0];
  if (kind == "conv_backward_data")
    return convOf(spec, y, b, a);
  if (kind == "conv_backward_filter")
    return convOf(spec, a, y, b);
  DLC_ASSIGN(const Conv conv, convOf(spec, a, b, y));
  if (hasBias)
    DLC_TRY(expectShape(spec, spec.inputs[2], {conv.y.c}, "bias"));
  return conv;
}

namespace {

class Convolution final : public Command {
public:
  Convolution(CudaDevice &device, const CommandSpec &spec)
      : device_(device), name_(describe(spec)), spec_(spec) {}

  Status build(Cudnn &cudnn, const Conv &conv) {
    DLC_ASSIGN(graph_, cudnn.convolution(spec_, conv));
    return device_.memoryPool().reserveWorkspace(graph_->workspaceBytes());
  }

  Status enqueue() override {
    return graph_
        ->enqueue(device_.memoryPool().workspace(), device_.context().compute())
        .withContext(name_);
  }

private:
  CudaDevice &device_;
  std::string name_;
  const CommandSpec spec_;
  std::unique_ptr<CudnnGraph> graph_;
};

Result<std::unique_ptr<Command>> bindConvolution(CudaDevice &device,
                                                 const CommandSpec &spec) {
  DLC_ASSIGN(const Conv conv, convolutionOf(spec));
  auto cudnn = device.libraries().cudnn();
  if (!cudnn.ok())
    return cudnn.status().withContext(describe(spec));
  auto command = std::make_unique<Convolution>(device, spec);
  DLC_TRY(command->build(**cudnn, conv));
  return std::unique_ptr<Command>(std::move(command));
}

constexpr GpuKind kKinds[] = {{"conv", bindConvolution},
                              {"conv_backward_data", bindConvolution},
                              {"conv_backward_filter", bindConvolution}};

} // namespace

std::span<const GpuKind> gpuConvKinds() { return kKinds; }

} // namespace dlc
