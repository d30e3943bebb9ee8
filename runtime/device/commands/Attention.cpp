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
  constexpr std::pair<Attention::Part, const char *> kParts[] = {
      {Attention::kQ, "q"}, {Attention::kK, "k"}, {Attention::kV, "v"}};
  for (const auto &[part, name] : kParts)
    DLC_TRY(expectShape(spec, spec.inputs[a.input(part)], a.shape(part), name));
  const Shape y = a.shape(a.queries, a.valueDepth),
              lse = {a.batch, a.heads, a.queries, 1};
  const Operand &rows =
      a.isBackward ? spec.inputs[a.inputY() + 1] : spec.outputs[1];
  DLC_TRY(expectShape(spec, rows, lse, "lse"));
  DLC_TRY(expectType(spec, rows, {plan::F32}, "lse"));
  if (!a.isBackward)
    return expectShape(spec, spec.outputs[0], y, "y");
  DLC_TRY(expectShape(spec, spec.inputs[0], y, "dy"));
  DLC_TRY(expectShape(spec, spec.inputs[a.inputY()], y, "y"));
  for (const auto &[part, name] : kParts)
    DLC_TRY(expectShape(spec, spec.outputs[a.output(part)], a.shape(part),
                        fmt::format("d{}", name).c_str()));
  return {};
}

} // namespace

Result<Attention> attentionOf(const CommandSpec &spec) {
  Attention a;
  a.isBackward = spec.command.kind().ends_with("_backward");
  a.isJoint = spec.command.kind().starts_with("attention_joint");
  a.hasMask = plan::intAttribute(spec.command, "has_mask", 0) != 0;
  a.causal = plan::intAttribute(spec.command, "causal", 0) != 0;
  a.scale = plan::floatAttribute(spec.command, "scale", 1);
  const size_t parts = a.isJoint ? 1 : 3;
  DLC_TRY(expectOperands(spec, parts + (a.isBackward ? 3u : 0u) + a.hasMask,
                         a.isBackward ? parts : 2));
  const std::string layout = plan::stringAttribute(spec.command, "layout",
                                                   a.isJoint ? "bthd" : "bhtd");
  if (layout != "bhtd" && layout != "bthd")
    return corrupt(spec, fmt::format("layout '{}'", layout));
  a.lengthFirst = layout == "bthd";
  const Shape q = shapeOf(spec.inputs[a.input(Attention::kQ)]),
              v = shapeOf(spec.inputs[a.input(Attention::kV)]);
  if (q.size() != 4 || v.size() != 4)
    return corrupt(spec, "expected q and v of 4 dimensions");
  const size_t length = a.lengthFirst ? 1 : 2;
  if (a.isJoint && q[3 - length] % 3)
    return corrupt(spec, fmt::format("{} heads of queries, keys and values",
                                     q[3 - length]));
  a.batch = q[0];
  a.heads = q[3 - length] / (a.isJoint ? 3 : 1);
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
