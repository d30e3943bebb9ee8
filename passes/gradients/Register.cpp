// SPDX-License-Identifier: Apache-2.0
#include "compiler/dialect/Dlc.h"
#include "passes/Gradients.h"

namespace dlc {

void registerGradients(mlir::DialectRegistry &registry) {
  registry.addExtension(+[](mlir::MLIRContext *context, ir::DlcDialect *) {
    attachAttentionGradients(*context);
    attachCustomGradients(*context);
    attachElementwiseGradients(*context);
    attachLinearGradients(*context);
    attachNormGradients(*context);
    attachRecurrenceGradients(*context);
    attachReduceGradients(*context);
    attachShapeGradients(*context);
    attachLossGradients(*context);
  });
}

} // namespace dlc
