// SPDX-License-Identifier: Apache-2.0
// attention, attention_backward: by cuDNN.
#include "runtime/device/commands/Attention.h"
#include "runtime/device/cuda/Kinds.h"
#include "runtime/device/cuda/cudnn/CudnnCommand.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

// One 16-bit type, except for lse and the mask.
Status expectHalves(const CommandSpec &spec, const Attention &a) {
  std::vector<Operand> halves(spec.inputs.begin(),
                              spec.inputs.begin() + ptrdiff_t(a.halves()));
  halves.insert(halves.end(), spec.outputs.begin(),
                spec.outputs.begin() + ptrdiff_t(a.halvesOut()));
  if (a.hasMask)
    halves.push_back(spec.inputs.back());
  const plan::DType type = typeOf(halves[0]);
  for (const Operand &operand : halves)
    if (typeOf(operand) != type || (type != plan::F16 && type != plan::BF16))
      return incompatible(
          spec,
          "cuDNN's attention needs operands that are all f16 or all bf16");
  return {};
}

constexpr const char *kAttentionWayOut =
    "; compile with --attention=off to do without cuDNN's attention";

Status orWithoutAttention(const Status &status) {
  return Status(status.code(), status.message() + kAttentionWayOut);
}

// Versions whose attention is known to be wrong (cuDNN's release notes).
Status expectVersion(const CommandSpec &spec, size_t version) {
  if (version != 91000 && version != 91001)
    return {};
  return incompatible(spec, fmt::format("attention of cuDNN 9.10.{} is broken; "
                                        "9.10.2 is not{}",
                                        version % 100, kAttentionWayOut));
}

Result<std::unique_ptr<Command>> bindAttention(CudaDevice &device,
                                               const CommandSpec &spec) {
  DLC_ASSIGN(const Attention attention, attentionOf(spec));
  DLC_TRY(expectHalves(spec, attention));
  auto cudnn = device.libraries().cudnn();
  if (!cudnn.ok())
    return cudnn.status().withContext(describe(spec));
  DLC_TRY(expectVersion(spec, (*cudnn)->version()));
  auto graph = (*cudnn)->attention(spec, attention,
                                   device.tuner().options().deterministic);
  if (!graph.ok())
    return orWithoutAttention(graph.status());
  auto command = bindCudnn(device, spec, **cudnn, std::move(*graph));
  if (!command.ok() && command.status().code() == Code::Incompatible)
    return orWithoutAttention(
        command.status()); // --deterministic, masks and sm_100
  return command;
}

constexpr GpuKind kAttentionKinds[] = {
    {"attention", bindAttention},
    {"attention_backward", bindAttention},
    {"attention_joint", bindAttention},
    {"attention_joint_backward", bindAttention}};

} // namespace

std::span<const GpuKind> gpuAttentionKinds() { return kAttentionKinds; }

} // namespace dlc
