// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cpu/codegen/CpuTarget.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

namespace dlc {
namespace {

/// Features that kernels benefit from. Others are never used.
constexpr llvm::StringLiteral kX86[] = {
    "sse3",     "ssse3",    "sse4.1",   "sse4.2",   "popcnt",    "avx",
    "f16c",     "fma",      "avx2",     "bmi",      "bmi2",      "avx512f",
    "avx512cd", "avx512bw", "avx512dq", "avx512vl", "avx512bf16"};
constexpr llvm::StringLiteral kArm[] = {"neon", "fullfp16", "bf16"};

llvm::ArrayRef<llvm::StringLiteral> candidates(const llvm::Triple &triple) {
  if (triple.getArch() == llvm::Triple::x86_64)
    return kX86;
  if (triple.isAArch64())
    return kArm;
  return {};
}

const llvm::Target *lookUp(const llvm::Triple &triple, std::string &why) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  return llvm::TargetRegistry::lookupTarget(triple, why);
}

} // namespace

bool CpuTarget::has(llvm::StringRef feature) const {
  return llvm::is_contained(features, feature);
}

llvm::FailureOr<CpuTarget> resolveCpuTarget(llvm::StringRef cpu,
                                            std::string *why) {
  std::string reason;
  llvm::Triple triple(llvm::sys::getProcessTriple());
  auto fail = [&](const llvm::Twine &message) {
    if (why)
      *why = message.str();
    return llvm::failure();
  };
  const llvm::Target *target = lookUp(triple, reason);
  if (!target)
    return fail(reason);
  bool native = cpu == "native";
  CpuTarget result;
  result.cpu = native ? llvm::sys::getHostCPUName().str() : cpu.str();
  // An unknown name makes LLVM print to stderr, so ask an empty machine first.
  std::unique_ptr<llvm::MCSubtargetInfo> any(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!any->isCPUStringValid(result.cpu))
    return fail("unknown CPU '" + cpu + "'; `llc -march=" +
                triple.getArchName() + " -mcpu=help` lists the names");
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, result.cpu, ""));
  auto host = llvm::sys::getHostCPUFeatures();
  // The host's features are those that the processor reports: its name, which a
  // virtual machine may change, says less.
  auto has = [&](llvm::StringRef feature) {
    return native ? host.lookup(feature)
                  : info->checkFeatures(("+" + feature).str());
  };
  for (llvm::StringRef feature : candidates(triple))
    if (has(feature))
      result.features.push_back(feature.str());
  result.hasAmx = triple.getArch() == llvm::Triple::x86_64 && has("amx-bf16");
  return result;
}

std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const CpuTarget &target, unsigned optLevel) {
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string why;
  const llvm::Target *arch = lookUp(triple, why);
  if (!arch)
    return nullptr;
  std::string features;
  for (const std::string &f : target.features)
    features += (features.empty() ? "+" : ",+") + f;
  llvm::StringRef base =
      triple.getArch() == llvm::Triple::x86_64 ? "x86-64" : "generic";
  auto level = llvm::CodeGenOpt::getLevel(std::min(optLevel, 3u));
  return std::unique_ptr<llvm::TargetMachine>(
      arch->createTargetMachine(triple, base, features, llvm::TargetOptions(),
                                llvm::Reloc::PIC_, std::nullopt, *level));
}

} // namespace dlc
