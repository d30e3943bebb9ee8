// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/commands/Epilogue.h"
#include "runtime/plan/Attributes.h"

#include <cmath>
#include <numbers>

namespace dlc {

int64_t reluRow(int64_t n) { return (n + 127) / 128 * 128; }

double slope(Activation activation, double x) {
  if (activation == Activation::Relu)
    return x <= 0 ? 0 : 1;
  const double k = std::sqrt(2 / std::numbers::pi), c = 0.044715;
  const double t = std::tanh(k * (x + c * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * c * x * x);
}

static Status expectKept(const CommandSpec &spec, const Operand &kept,
                         const Epilogue &epilogue, int64_t rows) {
  const bool isBits = epilogue.activation == Activation::Relu;
  DLC_TRY(expectType(spec, kept, {isBits ? plan::U8 : typeOf(spec.outputs[0])},
                     "kept"));
  const int64_t row = isBits ? epilogue.keptRow / 8 : epilogue.keptRow;
  const Shape shape = shapeOf(kept);
  if (shape.empty() || shape.back() != row || elements(kept) != rows * row)
    return corrupt(spec, fmt::format("kept has shape [{}], expected {} rows "
                                     "of {}",
                                     fmt::join(shape, ","), rows, row));
  return {};
}

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
    if (epilogue.activation != Activation::Relu &&
        epilogue.activation != Activation::GeluTanh)
      return corrupt(
          spec,
          fmt::format("expected activation relu or gelu_tanh, found "
                      "'{}'",
                      plan::stringAttribute(spec.command, "activation", "")));
    epilogue.isBackward = kind == "matmul_activation_backward";
    epilogue.keptRow =
        epilogue.activation == Activation::Relu ? reluRow(p.n) : p.n;
    epilogue.kept = epilogue.isBackward ? spec.inputs[2] : spec.outputs[1];
    DLC_TRY(expectKept(spec, *epilogue.kept, epilogue, p.m));
    if (epilogue.isBackward && spec.outputs.size() == 2)
      epilogue.sum = Epilogue::Sum::OfResult;
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
