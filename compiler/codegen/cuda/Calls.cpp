#include "compiler/codegen/cuda/Calls.h"
#include "compiler/dialect/Dlc.h"
#include <map>

using namespace mlir;

namespace dlc::cuda {
namespace {

const CallKernel *findCall(llvm::StringRef kind) {
  static const CallKernel table[] = {gatherKernel(), scatterAddKernel()};
  for (const CallKernel &call : table)
    if (call.kind == kind)
      return &call;
  return nullptr;
}

Type tensorOf(Value buffer) {
  auto memref = cast<MemRefType>(buffer.getType());
  return RankedTensorType::get(memref.getShape(), memref.getElementType());
}

/// What a call computes, as text; equal ones share a kernel.
std::string textOf(exec::CallOp call) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << call.getKind() << call.getArguments();
  for (Value v : call->getOperands())
    os << v.getType();
  return text;
}

exec::KernelOp makeKernel(exec::CallOp call, OpBuilder &b,
                          const std::string &name) {
  auto kernel = exec::KernelOp::create(b, call.getLoc(), name);
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&kernel.getBody());
  OperationState state(call.getLoc(), "dlc." + call.getKind().str());
  for (Value v : call.getInputs())
    state.addOperands(block->addArgument(tensorOf(v), call.getLoc()));
  for (Value v : call.getOutputs())
    state.addTypes(tensorOf(v));
  state.addAttributes(call.getArguments().getValue());
  Operation *op = b.create(state);
  ir::YieldOp::create(b, call.getLoc(), op->getResults());
  return kernel;
}

} // namespace

void lowerCalls(ModuleOp module) {
  std::map<std::string, exec::KernelOp> kernels;
  OpBuilder b(module.getContext());
  module.walk([&](exec::CallOp call) {
    const CallKernel *known = findCall(call.getKind());
    if (!known)
      return;
    exec::KernelOp &kernel = kernels[textOf(call)];
    if (!kernel) {
      b.setInsertionPointToEnd(module.getBody());
      kernel = makeKernel(call, b,
                          "c" + std::to_string(kernels.size() - 1) + "_" +
                              call.getKind().str());
    }
    b.setInsertionPoint(call);
    Launch shape = known->launch(opOf(kernel));
    exec::LaunchOp::create(b, call.getLoc(), kernel.getSymName(),
                           call.getInputs(), call.getOutputs(),
                           shape.grid * shape.block, /*grain=*/1,
                           call.getFlops(), b.getI64IntegerAttr(shape.grid),
                           b.getI64IntegerAttr(shape.block));
    call.erase();
  });
}

const CallKernel *callOf(exec::KernelOp kernel) {
  Operation *op = opOf(kernel);
  return op->getNumResults() && isa<ir::LibraryInterface>(op)
             ? findCall(op->getName().stripDialect())
             : nullptr;
}

Operation *opOf(exec::KernelOp kernel) {
  return &kernel.getBody().front().front();
}

} // namespace dlc::cuda
