// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/CudaCodegen.h"
#include "compiler/dialect/Exec.h"
#include "compiler/kernel/AttentionKernel.h"
#include "compiler/kernel/scalar/MathLowering.h"
#include "compiler/target/cuda/codegen/Compile.h"
#include "compiler/target/cuda/codegen/KernelEmitter.h"
#include "compiler/target/cuda/codegen/patterns/Attention.h"
#include "compiler/target/cuda/codegen/threads/Mapping.h"
#include "compiler/target/cuda/codegen/threads/PowersOfTwo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "runtime/base/process/Parallel.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <atomic>

using namespace mlir;

namespace dlc::cuda {

static void loadDialects(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect, scf::SCFDialect,
                      arith::ArithDialect, math::MathDialect,
                      cf::ControlFlowDialect, func::FuncDialect>();
}

std::unique_ptr<llvm::Module> emitKernels(ModuleOp module,
                                          llvm::LLVMContext &context) {
  loadDialects(*module.getContext());
  OwningOpRef<ModuleOp> work(ModuleOp::create(module.getLoc()));
  for (auto kernel : module.getOps<exec::KernelOp>())
    if (failed(emitKernel(kernel, *work)))
      return nullptr;
  if (failed(expandMath(*work, /*nativeBf16=*/true, populatePowersOfTwo)))
    return nullptr;
  // libdevice has libm's functions under other names.
  for (auto f : llvm::make_early_inc_range(work->getOps<func::FuncOp>())) {
    std::string name = ("__nv_" + f.getSymName()).str();
    if (failed(SymbolTable::replaceAllSymbolUses(
            f, StringAttr::get(f.getContext(), name), *work)))
      return nullptr;
    f.setSymName(name);
  }
  if (failed(convertToLlvm(*work)))
    return nullptr;
  return translateModuleToLLVMIR(*work, context, "kernels");
}

/// Compiles without errors, or describes them in `why`.
static LogicalResult compileFor(const llvm::MemoryBuffer &bitcode,
                                const Toolkit &toolkit,
                                const CudaCodegenOptions &options, Image &image,
                                std::string &why) {
  llvm::LLVMContext context;
  auto code = llvm::cantFail(
      llvm::parseBitcodeFile(bitcode.getMemBufferRef(), context));
  auto machine = createTargetMachine(image.sm);
  if (!machine) {
    why = "this LLVM has no code generator for NVIDIA GPUs";
    return failure();
  }
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  if (failed(linkLibdevice(*code, toolkit.libdevice, why)))
    return failure();
  optimize(*code, *machine);
  if (options.keepLlvm)
    llvm::raw_string_ostream(image.llvm) << *code;
  image.ptx = toPtx(*code, *machine);
  if (!options.assemble)
    return success();
  auto cubin = assemble(toolkit, image.ptx, image.sm.name(), why);
  if (failed(cubin))
    return failure();
  image.cubin = std::move(*cubin);
  return success();
}

LogicalResult compileKernels(ModuleOp module, ArrayRef<Sm> sms,
                             const Toolkit &toolkit,
                             const CudaCodegenOptions &options,
                             std::vector<Image> &images) {
  llvm::SmallVector<char, 0> bytes;
  {
    llvm::LLVMContext context;
    auto code = emitKernels(module, context);
    if (!code)
      return failure();
    llvm::raw_svector_ostream os(bytes);
    llvm::WriteBitcodeToFile(*code, os);
  }
  auto bitcode = llvm::MemoryBuffer::getMemBuffer(
      llvm::StringRef(bytes.data(), bytes.size()), "kernels",
      /*RequiresNullTerminator=*/false);
  images.clear();
  for (Sm sm : sms)
    images.push_back({sm, "", "", {}});
  std::vector<std::string> errors(images.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < images.size();)
      if (failed(
              compileFor(*bitcode, toolkit, options, images[i], errors[i])) &&
          errors[i].empty())
        errors[i] = "unknown error";
  };
  size_t jobs = options.jobs ? options.jobs : coresOfProcess();
  runTogether(std::min(jobs, images.size()), work);
  for (const std::string &error : errors)
    if (!error.empty())
      return module.emitError(error);
  return success();
}

static FailureOr<exec::Threads> threadsFor(exec::KernelOp kernel) {
  if (attentionOf(kernel.getBody()))
    return decideAttention(kernel);
  if (auto parts = mappingsBeside(kernel); !parts.empty())
    return threadsBeside(parts);
  std::string why;
  auto graph = KernelGraph::build(kernel.getBody(), why);
  if (!graph)
    return kernel.emitOpError("is not a legal cluster: ") << why;
  auto schedule = scheduleOf(kernel, *graph);
  if (failed(schedule))
    return failure();
  return decideThreads(*graph, *schedule);
}

bool runsParts(exec::KernelOp kernel) {
  if (!lastOf(kernel.getBody()))
    return !mappingsBeside(kernel).empty();
  std::string why;
  auto graph = KernelGraph::build(kernel.getBody(), why),
       last = KernelGraph::build(kernel.getBody(), why, /*part=*/1);
  if (!graph || !last)
    return false;
  const KernelSchedule schedule = scheduleKernel(*graph);
  Mapping map(*graph, schedule);
  static_cast<exec::Threads &>(map) = decideThreads(*graph, schedule);
  return mappingOfLast(map, *graph, *last).has_value();
}

LogicalResult mapThreads(ModuleOp module) {
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    if (kernel.getThreads())
      continue;
    auto threads = threadsFor(kernel);
    if (failed(threads))
      return failure();
    kernel.setThreadsAttr(
        exec::ThreadsAttr::get(module.getContext(), *threads));
  }
  return success();
}

} // namespace dlc::cuda
