// SPDX-License-Identifier: Apache-2.0
// attention, attention_backward: by cuDNN.
#include "runtime/device/cuda/cudnn/Attention.h"
#include "runtime/device/cuda/Kinds.h"
#include "runtime/device/cuda/cudnn/CudnnCommand.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

Status expectMask(const CommandSpec &spec, const Attention &a) {
  const Operand &mask = spec.inputs.back();
  const Shape found = shapeOf(mask), scores = a.dims(a.queries, a.keys);
  bool fits = found.size() == 4;
  for (size_t i = 0; fits && i < 4; ++i)
    fits = found[i] == 1 || found[i] == scores[i];
  if (!fits)
    return corrupt(spec,
                   fmt::format("mask of shape {} for scores of {}",
                               fmt::join(found, "x"), fmt::join(scores, "x")));
  return expectFloats(spec, {mask});
}

Status expectOperandsOf(const CommandSpec &spec, const Attention &a) {
  const size_t first = a.isBackward; // q's place
  const Shape q = a.shape(a.queries, a.depth), k = a.shape(a.keys, a.depth),
              v = a.shape(a.keys, a.valueDepth),
              y = a.shape(a.queries, a.valueDepth),
              lse = {a.batch, a.heads, a.queries, 1};
  DLC_TRY(expectShape(spec, spec.inputs[first], q, "q"));
  DLC_TRY(expectShape(spec, spec.inputs[first + 1], k, "k"));
  DLC_TRY(expectShape(spec, spec.inputs[first + 2], v, "v"));
  const Operand &rows = a.isBackward ? spec.inputs[5] : spec.outputs[1];
  DLC_TRY(expectShape(spec, rows, lse, "lse"));
  DLC_TRY(expectType(spec, rows, {plan::F32}, "lse"));
  if (!a.isBackward)
    return expectShape(spec, spec.outputs[0], y, "y");
  DLC_TRY(expectShape(spec, spec.inputs[0], y, "dy"));
  DLC_TRY(expectShape(spec, spec.inputs[4], y, "y"));
  DLC_TRY(expectShape(spec, spec.outputs[0], q, "dq"));
  DLC_TRY(expectShape(spec, spec.outputs[1], k, "dk"));
  return expectShape(spec, spec.outputs[2], v, "dv");
}

// Halves of one type, but for lse and the mask.
Status expectHalves(const CommandSpec &spec, const Attention &a) {
  std::vector<Operand> halves(spec.inputs.begin(),
                              spec.inputs.begin() + (a.isBackward ? 5 : 3));
  halves.insert(halves.end(), spec.outputs.begin(),
                spec.outputs.begin() + (a.isBackward ? 3 : 1));
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
    return Status(graph.status().code(),
                  graph.status().message() + kAttentionWayOut);
  return bindCudnn(device, spec, **cudnn, std::move(*graph));
}

constexpr GpuKind kAttentionKinds[] = {{"attention", bindAttention},
                                       {"attention_backward", bindAttention}};

} // namespace

Result<Attention> attentionOf(const CommandSpec &spec) {
  Attention a;
  a.isBackward = spec.command.kind() == "attention_backward";
  a.hasMask = plan::intAttribute(spec.command, "has_mask", 0) != 0;
  a.causal = plan::intAttribute(spec.command, "causal", 0) != 0;
  a.scale = plan::floatAttribute(spec.command, "scale", 1);
  DLC_TRY(expectOperands(spec, (a.isBackward ? 6u : 3u) + a.hasMask,
                         a.isBackward ? 3 : 2));
  const std::string layout =
      plan::stringAttribute(spec.command, "layout", "bhtd");
  if (layout != "bhtd" && layout != "bthd")
    return corrupt(spec, fmt::format("layout '{}'", layout));
  a.lengthFirst = layout == "bthd";
  const Shape q = shapeOf(spec.inputs[a.isBackward]),
              v = shapeOf(spec.inputs[a.isBackward + 2u]);
  if (q.size() != 4 || v.size() != 4)
    return corrupt(spec, "expected q and v of 4 dimensions");
  const size_t length = a.lengthFirst ? 1 : 2;
  a.batch = q[0];
  a.heads = q[3 - length];
  a.queries = q[length];
  a.keys = v[length];
  a.depth = q[3];
  a.valueDepth = v[3];
  DLC_TRY(expectOperandsOf(spec, a));
  if (a.hasMask)
    DLC_TRY(expectMask(spec, a));
  return a;
}

std::span<const GpuKind> gpuAttentionKinds() { return kAttentionKinds; }

} // namespace dlc
