// SPDX-License-Identifier: Apache-2.0
#include "HostKernels.h"
#include "Retarget.h"

#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/target/cpu/codegen/Compile.h"
#include "compiler/target/cuda/codegen/Compile.h"
#include "compiler/target/cuda/codegen/CudaCodegen.h"
#include "compiler/target/cuda/codegen/threads/Mapping.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <fstream>

namespace dlc::test {
namespace {

/// Adds the two functions of each kernel, and the tables of Launch.h that they
/// pass on.
class Exports {
public:
  explicit Exports(llvm::Module &module)
      : module(module), b(module.getContext()), pointer(b.getPtrTy()) {}

  void add(exec::KernelOp kernel) {
    std::string name = kernel.getSymName().str();
    define("launch." + name, 1, "gpu_launch",
           {b.CreateGlobalString(name, "name." + name, 0, &module),
            module.getFunction(kEntryPrefix + name), sharedOf(name)});
    define("accesses." + name, 3, "gpu_accesses", {argumentsOf(kernel)});
  }

private:
  using Values = llvm::SmallVector<llvm::Constant *>;

  /// void name(ptr...) that calls `callee` with its own arguments and `more`.
  void define(const std::string &name, unsigned count, const char *callee,
              const Values &more) {
    llvm::SmallVector<llvm::Type *> own(count, pointer),
        all(count + more.size(), pointer);
    auto type = [&](auto &list) {
      return llvm::FunctionType::get(b.getVoidTy(), list, false);
    };
    auto *f = llvm::Function::Create(type(own), llvm::Function::ExternalLinkage,
                                     name, module);
    b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "", f));
    llvm::SmallVector<llvm::Value *> arguments;
    for (llvm::Argument &a : f->args())
      arguments.push_back(&a);
    arguments.append(more.begin(), more.end());
    b.CreateCall(module.getOrInsertFunction(callee, type(all)), arguments);
    b.CreateRetVoid();
  }

  /// Rows of two, the last of which is zero.
  llvm::Constant *table(std::vector<std::pair<llvm::Constant *, int64_t>> rows,
                        llvm::Type *first) {
    auto *row = llvm::StructType::get(first, b.getInt64Ty());
    rows.emplace_back(llvm::Constant::getNullValue(first), 0);
    Values values;
    for (auto [value, number] : rows)
      values.push_back(
          llvm::ConstantStruct::get(row, {value, b.getInt64(number)}));
    auto *type = llvm::ArrayType::get(row, values.size());
    return new llvm::GlobalVariable(module, type, true,
                                    llvm::GlobalValue::InternalLinkage,
                                    llvm::ConstantArray::get(type, values));
  }
  llvm::Constant *sharedOf(const std::string &kernel) {
    std::vector<std::pair<llvm::Constant *, int64_t>> rows;
    for (llvm::GlobalVariable &v : module.globals())
      if (isShared(v) && v.getName().starts_with(kernel + ".shared"))
        rows.emplace_back(
            llvm::ConstantExpr::getAddrSpaceCast(&v, pointer),
            module.getDataLayout().getTypeAllocSize(v.getValueType()));
    return table(rows, pointer);
  }
  llvm::Constant *argumentsOf(exec::KernelOp kernel) {
    std::vector<std::pair<llvm::Constant *, int64_t>> rows;
    const bool hasParts = kernel.getParted(),
               sums = kernel.getScheduleAttr().getValue().kind ==
                      exec::Schedule::Rows;
    auto add = [&](mlir::Value v, bool writes) {
      const auto type = ir::tensorType(v);
      const bool isPart = hasParts && type.getRank() && !(sums && writes);
      rows.emplace_back(b.getInt64((writes ? 2 : 1) + (isPart ? 2 : 0)),
                        (isPart ? 1 : type.getNumElements()) *
                            cuda::storageBytes(v));
    };
    for (mlir::Value v : kernel.getBody().getArguments())
      add(v, false);
    for (mlir::Value v :
         kernel.getBody().front().getTerminator()->getOperands())
      add(v, true);
    return table(rows, b.getInt64Ty());
  }

  llvm::Module &module;
  llvm::IRBuilder<> b;
  llvm::PointerType *pointer;
};

} // namespace

std::string writeHostKernels(mlir::ModuleOp module, const std::string &number,
                             const std::string &path) {
  std::string why;
  auto sm = cuda::findSm(number, why);
  if (failed(sm))
    return why;
  if (failed(scheduleKernels(module)) || failed(cuda::mapThreads(module)))
    return "the kernels cannot be mapped";
  llvm::LLVMContext context;
  auto code = cuda::emitKernels(module, context);
  auto gpu = cuda::createTargetMachine(*sm);
  if (!code || !gpu)
    return "the kernels do not compile for the GPU";
  cuda::optimize(*code, *gpu);

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return llvm::toString(builder.takeError());
  builder->setRelocationModel(llvm::Reloc::PIC_);
  auto host = builder->createTargetMachine();
  if (!host)
    return llvm::toString(host.takeError());
  retarget(*code, (*host)->getTargetTriple(), (*host)->createDataLayout());
  Exports exports(*code);
  for (auto kernel : module.getOps<exec::KernelOp>())
    exports.add(kernel);

  ObjectBytes object;
  llvm::SmallVector<char> library;
  if (!compileToObject(*code, **host, object))
    return "this machine's back end writes no objects";
  if (failed(linkSharedObject(object, library, why)))
    return why;
  std::ofstream file(path, std::ios::binary);
  file.write(library.data(), library.size());
  return file.flush() ? "" : "cannot write " + path;
}

} // namespace dlc::test
