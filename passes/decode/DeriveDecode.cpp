// SPDX-License-Identifier: Apache-2.0
// @prefill and @decode: @predict for a sequence, and for another token of it.
#include "passes/Passes.h"
#include "passes/Step.h"
#include "passes/decode/OneText.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_DERIVEDECODE
#include "passes/Passes.h.inc"
namespace {

struct DeriveDecode : impl::DeriveDecodeBase<DeriveDecode> {
  void runOnOperation() final {
    func::FuncOp predict = findFunction(getOperation(), "predict");
    if (!predict)
      return signalPassFailure();
    auto model = decode::textModel(predict);
    if (failed(model) || failed(decode::addFunctionOfText(*model, false)) ||
        failed(decode::addFunctionOfText(*model, true)))
      return signalPassFailure();
  }
};

} // namespace

} // namespace dlc
