#include "passes/AttentionSupport.h"

using namespace mlir;

namespace dlc {

/// cuDNN's limits for every GPU from sm_80 on (its documentation of SDPA).
static std::optional<std::string> whyNotCudnn(const ir::AttentionDims &d) {
  for (int64_t depth : {d.depth, d.valueDepth}) {
    if (depth % 8 != 0)
      return "head dimension " + std::to_string(depth) +
             " is no multiple of 8, as cuDNN needs";
    if (depth > 128)
      return "head dimension " + std::to_string(depth) +
             " is larger than cuDNN's limit of 128";
  }
  return std::nullopt;
}

std::optional<std::string> whyNoAttention(StringRef by, RankedTensorType q,
                                          const ir::AttentionDims &dims,
                                          bool typed) {
  if (by == "generated")
    return "there are no generated kernels for attention yet";
  if (typed && !ir::isHalf(q.getElementType()))
    return "it computes in f32, and cuDNN's attention needs bf16 or fp16";
  return whyNotCudnn(dims);
}

} // namespace dlc
