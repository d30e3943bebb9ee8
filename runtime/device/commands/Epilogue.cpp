// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/commands/Epilogue.h"
#include "runtime/plan/Attributes.h"

namespace dlc {

Result<Epilogue> epilogueOf(const CommandSpec &spec, const Product &p) {
  Epilogue epilogue;
  epilogue.activation = activationOf(spec);
  if (plan::intAttribute(spec.command, "has_bias", 0)) {
    epilogue.bias = spec.inputs[2];
    DLC_TRY(expectFloats(spec, {*epilogue.bias}));
  }
  const std::string &kind = spec.command.kind();
  if (kind == "matmul")
    return epilogue;
  if (const int64_t count = countOf(p.batchY); count != 1)
    return corrupt(spec,
                   fmt::format("{} products, expected one of matrices", count));
  for (const Operand &operand : {spec.inputs[0], spec.inputs[1]})
    DLC_TRY(expectType(spec, operand, {typeOf(spec.outputs[0])}, "an operand"));
  if (kind == "matmul_bias_backward") {
    const bool ofA = plan::stringAttribute(spec.command, "of", "") == "a";
    if (ofA ? !p.transA : p.transB)
      return corrupt(spec, "the summed operand's rows are not contracted");
    epilogue.sum = ofA ? Epilogue::Sum::OfA : Epilogue::Sum::OfB;
  } else {
    if (epilogue.activation != Activation::GeluTanh)
      return corrupt(
          spec,
          fmt::format("expected activation gelu_tanh, found '{}'",
                      plan::stringAttribute(spec.command, "activation", "")));
    epilogue.kept = spec.outputs[1];
    DLC_TRY(
        expectType(spec, *epilogue.kept, {typeOf(spec.outputs[0])}, "kept"));
    DLC_TRY(
        expectShape(spec, *epilogue.kept, shapeOf(spec.outputs[0]), "kept"));
  }
  if (epilogue.sum != Epilogue::Sum::None) {
    epilogue.biasGradient = spec.outputs[1];
    DLC_TRY(expectShape(spec, spec.outputs[1],
                        {epilogue.sum == Epilogue::Sum::OfA ? p.m : p.n},
                        "dbias"));
    DLC_TRY(
        expectType(spec, spec.outputs[1], {typeOf(spec.outputs[0])}, "dbias"));
  }
  return epilogue;
}

} // namespace dlc
