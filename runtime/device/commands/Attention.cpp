// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/commands/Attention.h"
#include "runtime/device/commands/Checks.h"
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

} // namespace dlc
