#include "Retarget.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"

namespace dlc::test {
namespace {

constexpr unsigned kSharedSpace = 3;
constexpr llvm::StringLiteral kIntrinsic = "llvm.nvvm.", kCallee = "gpu.";

/// A call by name instead of an intrinsic that the host's back end lacks.
void replaceIntrinsics(llvm::Module &module) {
  for (llvm::Function &f : llvm::make_early_inc_range(module)) {
    if (!f.getName().starts_with(kIntrinsic))
      continue;
    auto *callee = llvm::Function::Create(f.getFunctionType(),
                                          llvm::Function::ExternalLinkage,
                                          kCallee + f.getName(), module);
    f.replaceAllUsesWith(callee);
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

std::string nameOfCallee(const llvm::Function &declaration) {
  llvm::StringRef name = declaration.getName();
  name.consume_front(kCallee);
  return name.str();
}

void retarget(llvm::Module &module, const llvm::Triple &triple,
              const llvm::DataLayout &layout) {
  replaceIntrinsics(module);
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
