// SPDX-License-Identifier: Apache-2.0
// Limits by the documentation of cuDNN's SDPA and norm engines.
#include "compiler/target/cuda/Limits.h"
#include "compiler/dialect/ops/Ranks.h"
#include "compiler/dialect/ops/Windows.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

constexpr int64_t kVector = 8; // channels that cuDNN's engines read at once

/// The widest heads for which cuDNN has a gradient on all of these GPUs.
int64_t widestHead(const Words &sms) {
  const bool isHopper = !sms.empty() && llvm::all_of(sms, [](StringRef sm) {
    return sm == "90";
  });
  return isHopper ? 256 : 128;
}

/// Why attention of these sizes cannot be one op; if `element` is null, only
/// shapes are checked.
std::string whyNoAttention(By by, const ir::AttentionDims &dims, Type element,
                           const Words &sms) {
  const std::string who =
      by == By::Library ? "cuDNN's attention" : "a generated kernel";
  if (element && !ir::isHalf(element))
    return "it computes in f32, and " + who + " needs bf16 or fp16";
  for (int64_t depth : {dims.depth, dims.valueDepth}) {
    const std::string found = "head dimension " + std::to_string(depth);
    if (depth % 8 != 0)
      return found + " is no multiple of 8, as " + who + " needs";
    const int64_t widest = by == By::Library ? widestHead(sms) : 128;
    if (depth > widest)
      return found + " is larger than " + std::to_string(widest) +
             ", the limit of " + who +
             (by == By::Library && widest < 256 ? " (with --sm=90: 256)" : "");
  }
  if (by == By::Library && dims.queries == 1 && dims.keys == 1)
    return "cuDNN has no gradient for one query and one key";
  return "";
}

/// Why no engine supports a norm of x with `width` values of scale.
std::string whyNoNorm(Value x, Value scale) {
  std::string text;
  llvm::raw_string_ostream why(text);
  const Type type = ir::elementType(x), parameters = ir::elementType(scale);
  const int64_t width = ir::tensorType(scale).getNumElements();
  if (!ir::isHalf(type) && !type.isF32())
    why << "it computes in " << type;
  else if (!parameters.isF32())
    why << "its scale is " << parameters << ", and cuDNN's norms keep f32";
  else if (width % kVector != 0)
    why << width << " values are no multiple of " << kVector
        << ", as cuDNN's norms need";
  return text;
}

/// Generated kernels fuse a norm with its neighbours; the library's speed has
/// not been measured yet.
template <class Norm> Ways norm(Norm op) {
  return {{By::Decomposed}, {By::Library, whyNoNorm(op.getX(), op.getScale())}};
}
template <class Norm> Ways normOfImages(Norm op) {
  if (op->hasAttr(ir::kNormBucket))
    return {{By::Decomposed},
            {By::Library, "its statistics are those of all ranks (--sync-bn)"}};
  const ImageDims dims = ir::imageDims(op, op.getX());
  if (!ImageDims::areImages(dims.rank) || !dims.channelsLast)
    return {{By::Decomposed},
            {By::Library, "cuDNN's batch norm needs images, channels last"}};
  return norm(op);
}

} // namespace

Ways waysOfAttention(const ir::AttentionDims &dims, Type element,
                     const Words &sms) {
  return {{By::Library, whyNoAttention(By::Library, dims, element, sms)},
          {By::Decomposed},
          {By::Generated, whyNoAttention(By::Generated, dims, element, sms)}};
}

Ways waysOf(ir::PlaceableInterface op) {
  return llvm::TypeSwitch<Operation *, Ways>(op)
      .Case<ir::BatchNormOp, ir::BatchNormBackwardOp>(
          [](auto o) { return normOfImages(o); })
      .Case<ir::LayerNormOp, ir::LayerNormBackwardOp>(
          [](auto o) { return norm(o); })
      .Case<ir::GatherOp, ir::PutRowsOp>(
          [](auto) { return Ways{{By::Generated}}; })
      .Case<ir::ConvOp, ir::ConvBackwardDataOp, ir::ConvBackwardFilterOp>(
          [](auto) { return Ways{{By::Library}}; })
      .Default([&](Operation *) {
        return Ways{
            {op.placedAs() == "scaled_matmul" ? By::Library : By::Decomposed}};
      });
}

} // namespace dlc::cuda
