// Limits by cuDNN's documentation of its SDPA and norm engines.
#include "compiler/target/cuda/Limits.h"

using namespace mlir;

namespace dlc::cuda {

/// Those of cuDNN, and of the kernels of compiler/codegen/cuda.
std::optional<std::string> whyNoAttention(By by, RankedTensorType q,
                                          const ir::AttentionDims &dims,
                                          bool typed) {
  const std::string who =
      by == By::Library ? "cuDNN's attention" : "a generated kernel";
  if (typed && !ir::isHalf(q.getElementType()))
    return "it computes in f32, and " + who + " needs bf16 or fp16";
  for (int64_t depth : {dims.depth, dims.valueDepth}) {
    const std::string found = "head dimension " + std::to_string(depth);
    if (depth % 8 != 0)
      return found + " is no multiple of 8, as " + who + " needs";
    if (depth > 128)
      return found + " is larger than 128, the limit of " + who;
  }
  if (by == By::Library && dims.queries == 1 && dims.keys == 1)
    return "cuDNN has no gradient for one query and one key";
  return std::nullopt;
}

namespace {

constexpr int64_t kVector = 8; // channels that cuDNN's engines read at once

/// Why no engine has a norm of x with `width` values of scale.
std::optional<std::string> whyNot(Value x, Value scale) {
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
  else
    return std::nullopt;
  return text;
}

template <class Norm> std::optional<std::string> whyNotImages(Norm norm) {
  if (ir::tensorType(norm.getX()).getRank() != 4 || norm.getLayout() != "nhwc")
    return "cuDNN's batch norm needs images, channels last";
  return whyNot(norm.getX(), norm.getScale());
}

} // namespace

std::optional<std::string> whyNoNormCall(Operation *op) {
  if (auto norm = dyn_cast<ir::BatchNormOp>(op))
    return whyNotImages(norm);
  if (auto norm = dyn_cast<ir::BatchNormBackwardOp>(op))
    return whyNotImages(norm);
  if (auto norm = dyn_cast<ir::LayerNormOp>(op))
    return whyNot(norm.getX(), norm.getScale());
  auto norm = cast<ir::LayerNormBackwardOp>(op);
  return whyNot(norm.getX(), norm.getScale());
}

} // namespace dlc::cuda
