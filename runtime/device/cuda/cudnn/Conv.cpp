// SPDX-License-Identifier: Apache-2.0
// conv, conv_backward_data, conv_backward_filter: by cuDNN.
#include "runtime/device/cuda/Kinds.h"
#include "runtime/device/cuda/cudnn/CudnnCommand.h"
#include "runtime/plan/Attributes.h"

namespace dlc {

Result<Conv> convolutionOf(const CommandSpec &spec) {
  const std::string &kind = spec.command.kind();
  const int hasBias =
      kind == "conv" && plan::intAttribute(spec.command, "has_bias", 0) != 0;
  DLC_TRY(expectOperands(spec, static_cast<size_t>(2 + hasBias), 1));
  DLC_TRY(expectFloats(spec));
  const Operand &a = spec.inputs[0], &b = spec.inputs[1], &y = spec.outputs[0];
  // For most shapes there is no engine with wider results, and some that exist
  // give wrong results (9.19 on an H200, channels first).
  if (typeOf(y) != typeOf(a))
    return incompatible(spec, fmt::format("cuDNN makes no {} of {} operands",
                                          plan::DType_Name(typeOf(y)),
                                          plan::DType_Name(typeOf(a))));
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

Result<std::unique_ptr<Command>> bindConvolution(CudaDevice &device,
                                                 const CommandSpec &spec) {
  DLC_ASSIGN(const Conv conv, convolutionOf(spec));
  for (const Operand &input : {spec.inputs[0], spec.inputs[1]})
    if (elements(input) == 0)
      return bindZeros(device, spec);
  auto cudnn = device.libraries().cudnn();
  if (!cudnn.ok())
    return cudnn.status().withContext(describe(spec));
  DLC_ASSIGN(auto graph, (*cudnn)->convolution(spec, conv));
  return bindCudnn(device, spec, **cudnn, std::move(graph));
}

constexpr GpuKind kConvKinds[] = {{"conv", bindConvolution},
                                  {"conv_backward_data", bindConvolution},
                                  {"conv_backward_filter", bindConvolution}};

} // namespace

std::span<const GpuKind> gpuConvKinds() { return kConvKinds; }

} // namespace dlc
