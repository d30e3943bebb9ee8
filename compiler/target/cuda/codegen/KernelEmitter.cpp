// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/KernelEmitter.h"
#include "compiler/kernel/AttentionKernel.h"
#include "compiler/kernel/scalar/Tables.h"
#include "compiler/target/cuda/codegen/patterns/Attention.h"
#include "compiler/target/cuda/codegen/threads/Body.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace dlc::cuda {

LLVM::LLVMFuncOp makeKernel(exec::KernelOp kernel, OpBuilder &b,
                            size_t pointers, int64_t block, bool counts) {
  MLIRContext *context = b.getContext();
  SmallVector<Type> types(pointers,
                          LLVM::LLVMPointerType::get(context, kGlobalSpace));
  if (counts)
    types.push_back(b.getI64Type());
  auto function = LLVM::LLVMFuncOp::create(
      b, kernel.getLoc(), kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    b.getDenseI32ArrayAttr({(int32_t)block}));
  for (size_t i = 0; i < pointers; ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(16));
  return function;
}

LogicalResult emitKernel(exec::KernelOp kernel, ModuleOp module) {
  if (attentionOf(kernel.getBody()))
    return emitAttention(kernel, module);
  std::string why;
  auto graph = KernelGraph::build(kernel.getBody(), why);
  if (!graph)
    return kernel.emitOpError("is not a legal cluster: ") << why;
  auto mapping = mappingOf(kernel, *graph);
  if (failed(mapping))
    return failure();
  const Mapping &map = *mapping;
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto inputs = kernel.getBody().getArguments();
  const size_t pointers = inputs.size() + graph->outputs.size();
  const bool counts = kernel.getParted();
  const bool sums = map.kind == KernelSchedule::Rows;
  if (counts && (sums ? inputs.size() != 1
                      : map.kind != KernelSchedule::Elementwise ||
                            map.outer.size() != 1 || map.transposed))
    return kernel.emitOpError("has parts and more loops than one");
  auto function = makeKernel(kernel, b, pointers, map.block, counts);
  if (const int64_t blocks = residentBlocks(map, *graph))
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      b.getI32IntegerAttr(blocks));
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  ScalarEmitter e(*graph, b, kernel.getLoc(), b.getIntegerType(map.indexBits));
  for (auto [input, pointer] : llvm::zip(inputs, entry->getArguments()))
    e.setPointer(input, pointer);
  bindTables(kernel, module, e, kGlobalSpace);
  Threads threads(e, module, kernel.getSymName());
  SmallVector<Value> outputs(
      entry->getArguments().slice(inputs.size(), graph->outputs.size()));
  Body body{*graph, map, e, threads, outputs};
  if (counts)
    body.count = e.resize(entry->getArgument(pointers), e.indexType);
  if (counts && sums)
    e.count = {ir::tensorType(inputs.front()).getNumElements(), body.count};
  if (map.grid && map.product) {
    emitTiles(body);
  } else if (map.grid) {
    switch (map.kind) {
    case KernelSchedule::Elementwise:
      map.transposed ? emitTransposed(body) : emitElementwise(body);
      break;
    case KernelSchedule::Rows:
      emitRows(body);
      break;
    case KernelSchedule::Columns:
      emitColumns(body);
      break;
    case KernelSchedule::Whole:
      llvm_unreachable("no schedule of a graph");
    }
  }
  LLVM::ReturnOp::create(b, kernel.getLoc(), ValueRange());
  return success();
}

} // namespace dlc::cuda
