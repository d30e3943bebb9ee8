// SPDX-License-Identifier: Apache-2.0
#include "Retarget.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include <algorithm>

namespace dlc::test {
namespace {

constexpr unsigned kSharedSpace = 3;
constexpr llvm::StringLiteral kIntrinsic = "llvm.nvvm.", kCallee = "gpu_",
                              kLibdevice = "__nv_";

/// A function like `f` that calls `name` with two addresses: of its arguments,
/// in words of 32 bits (two for a pointer), and of its result.
llvm::Function *throughMemory(llvm::Function &f, const std::string &name) {
  llvm::LLVMContext &context = f.getContext();
  auto *made = llvm::Function::Create(f.getFunctionType(),
                                      llvm::Function::InternalLinkage,
                                      name + "_by_value", f.getParent());
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", made));
  auto *registers = b.CreateAlloca(
      llvm::ArrayType::get(b.getInt32Ty(), 2 * made->arg_size()));
  auto *result = b.CreateAlloca(f.getReturnType());
  uint64_t word = 0;
  for (llvm::Argument &a : made->args()) {
    b.CreateAlignedStore(&a,
                         b.CreateConstGEP1_64(b.getInt32Ty(), registers, word),
                         llvm::Align(4));
    word += a.getType()->isPointerTy() ? 2 : 1;
  }
  auto *pointer = llvm::PointerType::get(context, 0);
  auto callee = f.getParent()->getOrInsertFunction(
      name, llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer}, false));
  b.CreateCall(callee, {registers, result});
  b.CreateRet(b.CreateLoad(f.getReturnType(), result));
  return made;
}

/// A call by name instead of an intrinsic that the host's back end lacks, and
/// of libm instead of libdevice.
void replaceCallees(llvm::Module &module) {
  for (llvm::Function &f : llvm::make_early_inc_range(module)) {
    std::string name = f.getName().str();
    if (f.getName().starts_with(kIntrinsic)) {
      name = (kCallee + name).str();
      std::replace(name.begin(), name.end(), '.', '_');
    } else if (f.getName().starts_with(kLibdevice)) {
      name.erase(0, kLibdevice.size());
    } else {
      continue;
    }
    if (f.getReturnType()->isStructTy()) {
      f.replaceAllUsesWith(throughMemory(f, name));
    } else {
      auto callee = module.getOrInsertFunction(name, f.getFunctionType());
      f.replaceAllUsesWith(callee.getCallee());
    }
    f.eraseFromParent();
  }
}

/// Attributes speak of the GPU; what reads threads' registers may not be moved
/// over a barrier's call, which is no intrinsic now and so keeps its place.
void makePlain(llvm::Function &f) {
  f.setCallingConv(llvm::CallingConv::C);
  f.setAttributes(llvm::AttributeList());
  for (llvm::BasicBlock &block : f)
    for (llvm::Instruction &i : block)
      if (auto *call = llvm::dyn_cast<llvm::CallInst>(&i)) {
        call->setCallingConv(llvm::CallingConv::C);
        call->setAttributes(llvm::AttributeList());
      }
}

void addEntry(llvm::Function &kernel) {
  llvm::LLVMContext &context = kernel.getContext();
  auto *pointer = llvm::PointerType::get(context, 0);
  auto *entry = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer}, false),
      llvm::Function::ExternalLinkage, kEntryPrefix + kernel.getName(),
      kernel.getParent());
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "", entry));
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &a : kernel.args()) {
    llvm::Value *from =
        b.CreateConstGEP1_64(pointer, entry->getArg(0), a.getArgNo());
    arguments.push_back(b.CreateLoad(a.getType(), from));
  }
  b.CreateCall(&kernel, arguments);
  b.CreateRetVoid();
}

} // namespace

bool isShared(const llvm::GlobalVariable &variable) {
  return variable.getAddressSpace() == kSharedSpace;
}

void retarget(llvm::Module &module, const llvm::Triple &triple,
              const llvm::DataLayout &layout) {
  replaceCallees(module);
  module.setTargetTriple(triple);
  module.setDataLayout(layout);
  llvm::SmallVector<llvm::Function *> kernels;
  for (llvm::Function &f : module) {
    if (f.isIntrinsic())
      continue;
    if (f.getCallingConv() == llvm::CallingConv::PTX_Kernel)
      kernels.push_back(&f);
    makePlain(f);
  }
  for (llvm::Function *kernel : kernels)
    addEntry(*kernel);
  for (llvm::GlobalVariable &v : module.globals())
    if (isShared(v))
      v.setLinkage(llvm::GlobalValue::ExternalLinkage);
}

} // namespace dlc::test
