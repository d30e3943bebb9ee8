#include "passes/AttentionSupport.h"

using namespace mlir;

namespace dlc {

/// The limits of cuDNN for every GPU from sm_80 on (its documentation of SDPA),
/// and of the kernels of compiler/codegen/cuda.
std::optional<std::string> whyNoAttention(StringRef by, RankedTensorType q,
                                          const ir::AttentionDims &dims,
                                          bool typed) {
  const std::string who =
      by == "library" ? "cuDNN's attention" : "a generated kernel";
  if (typed && !ir::isHalf(q.getElementType()))
    return "it computes in f32, and " + who + " needs bf16 or fp16";
  for (int64_t depth : {dims.depth, dims.valueDepth}) {
    const std::string found = "head dimension " + std::to_string(depth);
    if (depth % 8 != 0)
      return found + " is no multiple of 8, as " + who + " needs";
    if (depth > 128)
      return found + " is larger than 128, the limit of " + who;
  }
  if (by == "library" && dims.queries == 1 && dims.keys == 1)
    return "cuDNN has no gradient for one query and one key";
  return std::nullopt;
}

} // namespace dlc
