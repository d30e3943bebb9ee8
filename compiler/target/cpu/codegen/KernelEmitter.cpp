// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/codegen/KernelEmitter.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/kernel/scalar/Tables.h"
#include "compiler/target/cpu/codegen/Loops.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace dlc {
namespace {

class KernelEmitter {
public:
  KernelEmitter(exec::KernelOp kernel, ModuleOp module,
                const KernelGraph &graph, const KernelSchedule &schedule,
                const CpuTarget &target)
      : kernel(kernel), module(module), b(module.getContext()), graph(graph),
        schedule(schedule),
        e(graph, b, kernel.getLoc(), b.getI64Type(),
          LLVM::AccessGroupAttr::get(b.getContext(),
                                     DistinctAttr::create(b.getUnitAttr()))) {
    e.masks = target.has("avx512vl") && target.has("avx512bw");
    if (target.roundsToBf16())
      e.roundingLanes = 16;
  }

  void run() {
    Location loc = kernel.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Type i64 = b.getI64Type();
    b.setInsertionPointToEnd(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64, i64});
    auto function = LLVM::LLVMFuncOp::create(b, loc, kernel.getSymName(), type);
    Block *entry = function.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    bindArguments(entry->getArgument(0));
    bindTables(kernel, module, e);
    Loops loops(e);
    loops.loop(entry->getArgument(1), entry->getArgument(2), {}, Loops::Items,
               [&](Value item, ValueRange) {
                 if (schedule.extent())
                   emitItem(item, entry);
                 return Loops::Values();
               });
    LLVM::ReturnOp::create(b, loc, ValueRange());
  }

private:
  void emitItem(Value item, Block *entry) {
    if (Operation *conv = convOf(kernel.getBody())) {
      SmallVector<Value> inputs;
      for (Value v : kernel.getBody().getArguments())
        inputs.push_back(e.pointer(v));
      emitConvolution(convKernel(conv), e, inputs, outputs.front(),
                      ir::elementType(conv->getResult(0)), item, entry);
    } else if (schedule.kind == KernelSchedule::Columns)
      emitColumns(graph, schedule, e, outputs, item, entry);
    else
      emitRows(graph, schedule, e, outputs, item, entry);
  }

  void bindArguments(Value args) {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    int64_t position = 0;
    auto next = [&] {
      Value address = e.element(args, e.constant(position++), pointer);
      return LLVM::LoadOp::create(b, e.loc, pointer, address);
    };
    for (BlockArgument input : kernel.getBody().getArguments())
      e.setPointer(input, next());
    Operation *yield = kernel.getBody().front().getTerminator();
    for (size_t i = 0; i < yield->getNumOperands(); ++i)
      outputs.push_back(next());
  }

  exec::KernelOp kernel;
  ModuleOp module;
  OpBuilder b;
  const KernelGraph &graph;
  const KernelSchedule &schedule;
  ScalarEmitter e;
  SmallVector<Value> outputs;
};

} // namespace

/// LLVM would call the compiler's run-time library, which may be missing in the
/// process that runs the kernels.
static bool needsMissingF16(exec::KernelOp kernel, const CpuTarget &target) {
  auto isF16 = [](Type t) { return getElementTypeOrSelf(t).isF16(); };
  if (target.has("f16c") || target.has("neon"))
    return false;
  return kernel
      .walk([&](Operation *op) {
        bool used = llvm::any_of(op->getOperandTypes(), isF16) ||
                    llvm::any_of(op->getResultTypes(), isF16);
        return used ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult emitKernel(exec::KernelOp kernel, ModuleOp module,
                         const CpuTarget &target) {
  std::string why;
  if (needsMissingF16(kernel, target))
    return kernel.emitOpError("computes in f16, which CPU '")
           << target.cpu << "' cannot convert; compile for one with f16c";
  const bool isConv = convOf(kernel.getBody());
  auto graph = isConv ? std::make_unique<KernelGraph>()
                      : KernelGraph::build(kernel.getBody(), why);
  if (!graph)
    return kernel.emitOpError("is not a legal cluster: ") << why;
  if (partsOf(kernel.getBody()) > 1)
    return kernel.emitOpError("is cut into parts, which needs a device that "
                              "runs grids of threads");
  if (graph->sumsBesideRows() || graph->reducesProductRows())
    return kernel.emitOpError("sums columns beside reductions of rows, which a "
                              "CPU computes in two kernels");
  auto schedule = scheduleOf(kernel, *graph);
  if (failed(schedule))
    return failure();
  KernelEmitter(kernel, module, *graph, *schedule, target).run();
  return success();
}

} // namespace dlc
