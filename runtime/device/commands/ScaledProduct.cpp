// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/commands/ScaledProduct.h"
#include "runtime/plan/Attributes.h"

namespace dlc {

static Result<Float8> formatOf(const CommandSpec &spec,
                               const std::string &attribute) {
  const std::string format = plan::stringAttribute(spec.command, attribute, "");
  if (format == "e4m3")
    return Float8::E4M3;
  if (format == "e5m2")
    return Float8::E5M2;
  return corrupt(spec, fmt::format("{} is '{}', expected e4m3 or e5m2",
                                   attribute, format));
}

Result<ScaledProduct> scaledProductOf(const CommandSpec &spec) {
  const bool hasBias = plan::intAttribute(spec.command, "has_bias", 0);
  DLC_TRY(expectOperands(spec, 4 + hasBias, 1));
  const Operand &a = spec.inputs[0], &b = spec.inputs[1], &y = spec.outputs[0];
  DLC_TRY(expectType(spec, a, {plan::U8}, "a"));
  DLC_TRY(expectType(spec, b, {plan::U8}, "b"));
  DLC_TRY(expectType(spec, y, {plan::BF16}, "y"));
  const Shape shapeA = shapeOf(a), shapeB = shapeOf(b);
  if (shapeA.size() != 2 || shapeB.size() != 2 || shapeA[1] != shapeB[1])
    return corrupt(spec, "expected two matrices of one number of columns");
  ScaledProduct p{};
  p.product = {{}, {}, {}, shapeA[0], shapeB[0], shapeA[1], false, true};
  DLC_TRY(expectShape(spec, y, {shapeA[0], shapeB[0]}, "y"));
  DLC_ASSIGN(p.formatA, formatOf(spec, "format_a"));
  DLC_ASSIGN(p.formatB, formatOf(spec, "format_b"));
  p.scaleA = spec.inputs[2], p.scaleB = spec.inputs[3];
  for (const Operand &scale : {p.scaleA, p.scaleB}) {
    DLC_TRY(expectType(spec, scale, {plan::F32}, "a scale"));
    DLC_TRY(expectShape(spec, scale, {}, "a scale"));
  }
  if (hasBias) {
    p.epilogue.bias = spec.inputs[4];
    DLC_TRY(expectType(spec, spec.inputs[4], {plan::BF16}, "bias"));
    DLC_TRY(expectShape(spec, spec.inputs[4], {shapeB[0]}, "bias"));
  }
  return p;
}

} // namespace dlc
