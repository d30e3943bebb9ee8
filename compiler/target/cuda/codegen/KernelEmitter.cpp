// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/KernelEmitter.h"
#include "compiler/kernel/AttentionKernel.h"
#include "compiler/kernel/scalar/Tables.h"
#include "compiler/target/cuda/codegen/patterns/Attention.h"
#include "compiler/target/cuda/codegen/threads/Body.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// Emits the part after exec.last, which the last block for its columns runs.
static LogicalResult emitLast(exec::KernelOp kernel, ModuleOp module,
                              const Body &first) {
  std::string why;
  auto graph = KernelGraph::build(kernel.getBody(), why, /*part=*/1);
  if (!graph)
    return kernel.emitOpError("is not a legal cluster: ") << why;
  auto map = mappingOfLast(first.map, first.graph, *graph);
  if (!map)
    return kernel.emitOpError("has exec.last behind sums whose blocks do not "
                              "share columns");
  Threads &all = first.threads;
  OpBuilder &b = first.e.b;
  Block &entry = b.getInsertionBlock()->getParentOp()->getRegion(0).front(),
        &code = kernel.getBody().front();
  const std::string name = (kernel.getSymName() + ".shared.last").str();
  Value group = all.remainder(all.block(), map->grid);
  Value isLast = all.comesLast(group, map->grid, first.map.grid / map->grid);
  all.where(isLast, [&] {
    ScalarEmitter e(*graph, b, kernel.getLoc(),
                    b.getIntegerType(map->indexBits));
    SmallVector<Value> memory(code.getArguments());
    llvm::append_range(memory, code.getTerminator()->getOperands());
    for (auto [value, pointer] : llvm::zip(memory, entry.getArguments()))
      e.setPointer(value, pointer);
    for (auto constant : code.getOps<ir::ConstantOp>())
      e.setPointer(constant.getY(), first.e.pointer(constant.getY()));
    Threads threads(e, module, name);
    threads.setBlock(e.resize(group, e.indexType));
    const SmallVector<Value> outputs(
        entry.getArguments().take_back(graph->outputs.size()));
    emitColumns({*graph, *map, e, threads, outputs});
  });
  return success();
}

/// Emits each part for its own blocks.
static LogicalResult emitBeside(exec::KernelOp kernel, ModuleOp module,
                                const std::vector<PartBeside> &parts) {
  const exec::Threads threads = threadsBeside(parts);
  if (!kernel.getThreads() || kernel.getThreadsAttr().getValue() != threads)
    return kernel.emitOpError("has other threads than its parts need");
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  Block &code = kernel.getBody().front();
  SmallVector<Value> memory(code.getArguments());
  llvm::append_range(memory, code.getTerminator()->getOperands());
  auto function = makeKernel(kernel, b, memory.size(), threads.block);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  SmallVector<Value> pointers(entry->getArguments());
  size_t output = code.getNumArguments();
  for (const PartBeside &part : parts) {
    ScalarEmitter e(*part.graph, b, kernel.getLoc(),
                    b.getIntegerType(part.map.indexBits));
    for (auto [value, pointer] : llvm::zip(memory, pointers))
      e.setPointer(value, pointer);
    if (&part == &parts.front()) {
      bindTables(kernel, module, e, kGlobalSpace);
      for (auto constant : code.getOps<ir::ConstantOp>()) {
        memory.push_back(constant.getY());
        pointers.push_back(e.pointer(constant.getY()));
      }
    }
    Threads t(e, module, kernel.getSymName());
    const SmallVector<Value> outputs(
        entry->getArguments().slice(output, part.graph->outputs.size()));
    output += outputs.size();
    // Below `begin` the unsigned index wraps to a large number.
    Value block =
        arith::SubIOp::create(b, e.loc, t.block(), e.constant(part.begin));
    t.where(t.isLess(block, part.map.grid), [&] {
      t.setBlock(block);
      emitElementwise({*part.graph, part.map, e, t, outputs});
    });
  }
  LLVM::ReturnOp::create(b, kernel.getLoc(), ValueRange());
  return success();
}

LogicalResult emitKernel(exec::KernelOp kernel, ModuleOp module) {
  if (attentionOf(kernel.getBody()))
    return emitAttention(kernel, module);
  if (auto parts = mappingsBeside(kernel); !parts.empty())
    return emitBeside(kernel, module, parts);
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
  const size_t pointers =
      inputs.size() +
      kernel.getBody().front().getTerminator()->getNumOperands();
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
  if (lastOf(kernel.getBody()) && failed(emitLast(kernel, module, body)))
    return failure();
  LLVM::ReturnOp::create(b, kernel.getLoc(), ValueRange());
  return success();
}

} // namespace dlc::cuda
