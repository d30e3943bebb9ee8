// SPDX-License-Identifier: Apache-2.0
// The parts that ranks have are items of the kernels that update them: when
// launches are merged and kernels scheduled, it is known of how many elements.
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/emit/Buckets.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_NUMBERPARTS
#include "compiler/lower/Passes.h.inc"

namespace {

/// How a kernel on tensors of one shape is split.
struct Items {
  int64_t extent, elements; // of each
};
Items itemsOf(exec::KernelOp kernel) {
  const exec::Schedule &schedule = kernel.getScheduleAttr().getValue();
  return {schedule.extent(),
          schedule.block ? schedule.block : schedule.inner[0].size};
}

class Numberer {
public:
  Numberer(exec::ProgramOp program, const SymbolTable &symbols)
      : program(program), symbols(symbols), bucket(firstFreeBucket(program)) {}

  void run() {
    for (Operation &op :
         llvm::make_early_inc_range(program.getBody().front())) {
      auto launch = dyn_cast<exec::LaunchOp>(op);
      if (launch && launch->hasAttr(kShard))
        number(launch);
      else if (!isa<exec::BufferOp, exec::PortOp>(op) &&
               llvm::any_of(op.getOperands(),
                            [](Value v) { return rangeInRegion(v, "param"); }))
        wait(OpBuilder(&op), op.getLoc());
    }
    wait(OpBuilder::atBlockEnd(&program.getBody().front()), program.getLoc());
  }

private:
  void number(exec::LaunchOp launch) {
    auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
    const Items items = itemsOf(kernel);
    OpBuilder b(launch->getContext());
    kernel.setParted(true);
    launch->setAttr(kShard, b.getI64IntegerAttr(items.elements));
    b.setInsertionPointAfter(launch);
    auto gathered = launch->getAttrOfType<DenseI64ArrayAttr>(kGather);
    launch->removeAttr(kGather);
    for (int64_t i : gathered ? gathered.asArrayRef() : ArrayRef<int64_t>()) {
      Value range = launch.getOutputs()[i];
      NamedAttrList arguments;
      arguments.set("bucket", b.getI64IntegerAttr(bucket));
      arguments.set("extent", b.getI64IntegerAttr(items.extent));
      arguments.set(kShard, b.getI64IntegerAttr(items.elements));
      exec::CallOp::create(b, launch.getLoc(), "all_gather", range, range,
                           arguments.getDictionary(b.getContext()));
      pending.push_back({range, bucket++});
    }
  }

  /// For what was gathered behind updates.
  void wait(OpBuilder b, Location loc) {
    for (auto [buffer, bucket] : pending)
      exec::WaitOp::create(b, loc, buffer, bucket);
    pending.clear();
  }

  exec::ProgramOp program;
  const SymbolTable &symbols;
  int64_t bucket; // the next
  SmallVector<std::pair<Value, int64_t>> pending;
};

struct NumberParts : impl::NumberPartsBase<NumberParts> {
  using NumberPartsBase::NumberPartsBase;

  void runOnOperation() final {
    const SymbolTable symbols(getOperation());
    for (auto program : getOperation().getOps<exec::ProgramOp>())
      Numberer(program, symbols).run();
  }
};

} // namespace
} // namespace dlc
