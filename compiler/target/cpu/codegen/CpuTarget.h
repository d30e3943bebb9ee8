// SPDX-License-Identifier: Apache-2.0
// The CPU that kernels are compiled for.
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
  std::string cpu; // LLVM's name, which code is tuned for
  /// Features that kernels may use beyond the architecture's baseline, by
  /// LLVM's names, in the order of the table in CpuTarget.cpp. The artifact's
  /// manifest must require them.
  std::vector<std::string> features;
  /// Used by the runtime's bf16 loops, not by kernels.
  bool hasAmx = false;

  bool has(llvm::StringRef feature) const;
  /// Whether it has instructions for that, including vectors of 512 bits.
  bool roundsToBf16() const { return has("avx512bf16") && has("avx512vl"); }
};

/// `cpu` is "native" (this machine) or a CPU of this machine's architecture
/// that LLVM knows. On failure `why` has the reason.
llvm::FailureOr<CpuTarget> resolveCpuTarget(llvm::StringRef cpu,
                                            std::string *why = nullptr);

/// A machine for use by one thread; it uses only the features of `target`.
/// `optLevel` is 0 to 3.
std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const CpuTarget &target, unsigned optLevel);

} // namespace dlc
