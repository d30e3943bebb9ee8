// SPDX-License-Identifier: Apache-2.0
// Which CPU kernels are compiled for.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LogicalResult.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
}

namespace dlc {

struct CpuTarget {
  std::string cpu; // LLVM's name; code is tuned for it
  /// All that kernels may use beyond the baseline of the architecture, by
  /// LLVM's names, sorted as the table of CpuTarget.cpp. The artifact's
  /// manifest must require them.
  std::vector<std::string> features;
  /// Kernels do not use it, but the runtime's loops of bf16 do.
  bool hasAmx = false;

  bool has(llvm::StringRef feature) const;
  /// By an instruction, vectors of 512 bits too.
  bool roundsToBf16() const { return has("avx512bf16") && has("avx512vl"); }
};

/// `cpu` is "native" (this machine) or a CPU that LLVM knows for this machine's
/// architecture. On failure `why` holds the reason.
llvm::FailureOr<CpuTarget> resolveCpuTarget(llvm::StringRef cpu,
                                            std::string *why = nullptr);

/// A machine for one thread; only the features of `target` are used. `optLevel`
/// is 0 to 3.
std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const CpuTarget &target, unsigned optLevel);

} // namespace dlc
