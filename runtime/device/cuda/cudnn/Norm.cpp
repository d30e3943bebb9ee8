// SPDX-License-Identifier: Apache-2.0
// fused_batch_norm, fused_layer_norm and their gradients: by cuDNN.
#include "runtime/device/cuda/Kinds.h"
#include "runtime/device/cuda/cudnn/CudnnCommand.h"

namespace dlc {
namespace {

constexpr const char *kNormWayOut =
    "; compile with --norm=generated to do without cuDNN's norms";

Status withWayOut(const Status &status) {
  return Status(status.code(), status.message() + kNormWayOut);
}

Result<std::unique_ptr<Command>> bindNorm(CudaDevice &device,
                                          const CommandSpec &spec) {
  DLC_ASSIGN(const Norm norm, normOf(spec));
  auto cudnn = device.libraries().cudnn();
  if (!cudnn.ok())
    return withWayOut(cudnn.status().withContext(describe(spec)));
  auto graph = (*cudnn)->norm(spec, norm);
  if (!graph.ok())
    return withWayOut(graph.status());
  auto command = bindCudnn(device, spec, **cudnn, std::move(*graph));
  if (!command.ok() && command.status().code() == Code::Incompatible)
    return withWayOut(command.status()); // a GPU without an engine for it
  return command;
}

constexpr GpuKind kNormKinds[] = {{"fused_batch_norm", bindNorm},
                                  {"fused_batch_norm_backward", bindNorm},
                                  {"fused_layer_norm", bindNorm},
                                  {"fused_layer_norm_backward", bindNorm}};

} // namespace

std::span<const GpuKind> gpuNormKinds() { return kNormKinds; }

} // namespace dlc
