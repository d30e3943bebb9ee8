// SPDX-License-Identifier: Apache-2.0
// The first updates reduce gradients without compression (--compress=powersgd):
// compression errors are most harmful then, because gradients are large and
// change quickly. torch's powerSGD_hook does the same. Until compression
// begins, its states keep their initial values.
#include "compiler/dialect/ops/Ranks.h"
#include "passes/Passes.h"
#include "passes/Step.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_STARTWHOLE
#include "passes/Passes.h.inc"
namespace {

struct StartWhole : impl::StartWholeBase<StartWhole> {
  StartWhole() { reads<&StepOptions::allReduce>(); }

  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step");
    if (!f)
      return signalPassFailure();
    const int64_t updates = options.allReduce.powerStart;
    if (updates == 0 ||
        llvm::none_of(f.getOps<ir::AllReduceOp>(),
                      [](ir::AllReduceOp op) { return bool(op.getError()); }))
      return;
    auto start = cast<func::FuncOp>(f->clone());
    start.setName("start_step");
    start->setAttr(
        ir::kUpdates,
        IntegerAttr::get(IntegerType::get(f.getContext(), 64), updates));
    for (auto reduce : start.getOps<ir::AllReduceOp>()) {
      reduce.removeErrorAttr();
      reduce.removeFactorAttr();
    }
    getOperation().push_back(start);
  }
};

} // namespace
} // namespace dlc
