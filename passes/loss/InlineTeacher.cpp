// SPDX-License-Identifier: Apache-2.0
// Runs after dlc-train-mode and dlc-randomize, which change how @train_step
// computes: a teacher computes as @predict does.
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/Step.h"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_INLINETEACHER
#include "passes/Passes.h.inc"
namespace {

struct InlineTeacher : impl::InlineTeacherBase<InlineTeacher> {
  void runOnOperation() final {
    auto f = findFunction(getOperation(), "train_step"),
         teacher = findFunction(getOperation(), "teacher");
    if (!f || !teacher)
      return signalPassFailure();
    for (auto call : llvm::make_early_inc_range(f.getOps<func::CallOp>()))
      replace(call, teacher);
    teacher.erase();
  }

  static void replace(func::CallOp call, func::FuncOp teacher) {
    OpBuilder b(call);
    IRMapping map;
    map.map(teacher.getArguments(), call.getOperands());
    for (Operation &op : teacher.front().without_terminator())
      b.clone(op, map);
    Operation *end = teacher.front().getTerminator();
    for (auto [result, value] :
         llvm::zip(call.getResults(), end->getOperands()))
      result.replaceAllUsesWith(map.lookupOrDefault(value));
    call.erase();
  }
};

} // namespace
} // namespace dlc
