// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/commands/Norm.h"
#include "runtime/base/numbers/Sliding.h"
#include "runtime/device/commands/Checks.h"
#include "runtime/plan/Attributes.h"

namespace dlc {
namespace {

Status expectCounts(const CommandSpec &spec, const Norm &norm) {
  if (norm.isBackward)
    return expectOperands(spec, 5u + norm.relu, 3);
  return expectOperands(spec, 3u + norm.hasResidual, 3);
}

// Sets x's shape as images, or the rows of a layer norm and their width.
Status readShape(const CommandSpec &spec, const Shape &x, Norm &norm) {
  if (!norm.isLayer) {
    if (!ImageDims::areImages(static_cast<int64_t>(x.size())))
      return corrupt(spec, fmt::format("expected images, found x of {}",
                                       fmt::join(x, "x")));
    norm.n = x.front(), norm.w = x[x.size() - 2], norm.c = x.back();
    for (size_t d = 1; d + 2 < x.size(); ++d)
      norm.h *= x[d];
    return {};
  }
  const int64_t axis = plan::intAttribute(spec.command, "axis", -1);
  if (axis < 0 || axis >= static_cast<int64_t>(x.size()))
    return corrupt(spec,
                   fmt::format("axis {} of x of {}", axis, fmt::join(x, "x")));
  norm.n = norm.c = 1;
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()); ++i)
    (i < axis ? norm.n : norm.c) *= x[static_cast<size_t>(i)];
  return {};
}

Status expectImages(const CommandSpec &spec, const Operand &x,
                    std::initializer_list<Operand> images) {
  for (const Operand &image : images) {
    DLC_TRY(expectShape(spec, image, shapeOf(x), "what is like x"));
    DLC_TRY(expectType(spec, image, {typeOf(x)}, "what is like x"));
  }
  return {};
}

// Expects `values` elements of f32 in each vector.
Status expectVectors(const CommandSpec &spec, int64_t values,
                     std::initializer_list<Operand> vectors, const char *name) {
  for (const Operand &vector : vectors) {
    if (elements(vector) != values)
      return corrupt(
          spec, fmt::format("{} {} of {}, expected {}", elements(vector), name,
                            fmt::join(shapeOf(vector), "x"), values));
    DLC_TRY(expectType(spec, vector, {plan::F32}, name));
  }
  return {};
}

Status expectOperandsOf(const CommandSpec &spec, const Norm &norm) {
  const auto &in = spec.inputs, &out = spec.outputs;
  const int64_t saved = norm.isLayer ? norm.n : norm.c;
  constexpr const char *kParameters = "parameters", *kStatistics = "statistics";
  if (!norm.isBackward) {
    DLC_TRY(expectImages(spec, in[0], {out[0]}));
    if (norm.hasResidual)
      DLC_TRY(expectImages(spec, in[0], {in[3]}));
    DLC_TRY(expectVectors(spec, norm.c, {in[1], in[2]}, kParameters));
    return expectVectors(spec, saved, {out[1], out[2]}, kStatistics);
  }
  DLC_TRY(expectImages(spec, in[1], {in[0], out[0]}));
  DLC_TRY(expectVectors(spec, norm.c, {in[2], out[1], out[2]}, kParameters));
  if (norm.relu)
    DLC_TRY(expectVectors(spec, norm.c, {in[5]}, kParameters));
  return expectVectors(spec, saved, {in[3], in[4]}, kStatistics);
}

} // namespace

Result<Norm> normOf(const CommandSpec &spec) {
  const std::string &kind = spec.command.kind();
  Norm norm;
  norm.isLayer = kind.starts_with("fused_layer");
  norm.isBackward = kind.ends_with("backward");
  norm.hasResidual = plan::intAttribute(spec.command, "has_residual", 0) != 0;
  norm.relu = plan::intAttribute(spec.command,
                                 norm.isBackward ? "has_bias" : "relu", 0) != 0;
  norm.epsilon = plan::floatAttribute(spec.command, "epsilon", 0);
  DLC_TRY(expectCounts(spec, norm));
  const Operand &x = spec.inputs[norm.isBackward];
  DLC_TRY(readShape(spec, shapeOf(x), norm));
  const plan::DType type = typeOf(x);
  if (type != plan::F16 && type != plan::BF16 && type != plan::F32)
    return incompatible(spec, "norms as one call need x in f16, bf16 or f32");
  DLC_TRY(expectOperandsOf(spec, norm));
  return norm;
}

} // namespace dlc
