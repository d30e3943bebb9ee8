// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/CudaTarget.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

namespace dlc::cuda {

/// With the lowest PTX version that supports the SM and everything that the
/// code generator uses.
constexpr Sm kSms[] = {{80, 80},  {86, 80},  {87, 80},  {89, 80}, {90, 80},
                       {100, 86}, {103, 88}, {120, 87}, {121, 88}};

llvm::FailureOr<Sm> findSm(llvm::StringRef number, std::string &why) {
  std::string names;
  for (const Sm &sm : kSms) {
    if (number == std::to_string(sm.number))
      return sm;
    names += (names.empty() ? "" : ", ") + std::to_string(sm.number);
  }
  why = "unknown SM '" + number.str() + "', expected one of " + names;
  return llvm::failure();
}

int newestSmFor(int capability) {
  int newest = 0;
  for (const Sm &sm : kSms)
    if (sm.number <= capability)
      newest = sm.number;
  return newest;
}

std::unique_ptr<llvm::TargetMachine> createTargetMachine(Sm sm) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string why;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, sm.name(), "+ptx" + std::to_string(sm.ptx), llvm::TargetOptions(),
      llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

} // namespace dlc::cuda
