// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/AttentionKernel.h"

using namespace mlir;

namespace dlc {

Operation *attentionOf(Region &body) {
  for (Operation &op : body.front())
    if (isa<ir::AttentionOp, ir::AttentionBackwardOp>(op))
      return &op;
  return nullptr;
}

} // namespace dlc
