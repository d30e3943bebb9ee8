// SPDX-License-Identifier: Apache-2.0
// Helpers that passes over commands share.
#pragma once

#include "compiler/dialect/Exec.h"
#include "compiler/lower/memory/StateLayout.h"
#include "compiler/target/Target.h"
#include "mlir/IR/SymbolTable.h"

namespace dlc {

/// The range of a region's bytes that a buffer is.
struct BufferRange {
  llvm::StringRef region;
  int64_t begin, end;
  bool overlaps(const BufferRange &o) const {
    return region == o.region && begin < o.end && o.begin < end;
  }
};

inline BufferRange rangeOf(mlir::Value buffer) {
  auto op = buffer.getDefiningOp<exec::BufferOp>();
  const int64_t begin = op.getOffset();
  return {op.getRegion(), begin,
          begin + byteSize(mlir::cast<mlir::MemRefType>(buffer.getType()))};
}
/// Whether any two of the buffers overlap.
inline bool overlap(mlir::ValueRange some, mlir::ValueRange others) {
  return llvm::any_of(some, [&](mlir::Value v) {
    return llvm::any_of(others, [&](mlir::Value other) {
      return rangeOf(v).overlaps(rangeOf(other));
    });
  });
}

/// Whether `op` starts a copy to or from the host, or waits for one, and none
/// of the launches accesses its memory: they may run after it instead of
/// before.
inline bool isCopyBeside(mlir::Operation *op,
                         llvm::ArrayRef<exec::LaunchOp> launches) {
  return llvm::isa<exec::OffloadOp, exec::FetchOp, exec::WaitCopyOp>(op) &&
         llvm::none_of(launches, [&](exec::LaunchOp launch) {
           return overlap(launch->getOperands(), op->getOperands());
         });
}

/// Kernels that are combined from others and split into parts (exec.last,
/// exec.beside).
class CutKernels {
public:
  CutKernels(mlir::ModuleOp module, const Target &target)
      : symbols(module), target(target) {}
  exec::KernelOp lookup(llvm::StringRef name) const {
    return symbols.lookup<exec::KernelOp>(name);
  }
  /// The kernel for `key`, which identifies its parts; it is made only once.
  /// Null if there is none, or if the target cannot run it.
  exec::KernelOp get(llvm::StringRef key,
                     llvm::function_ref<exec::KernelOp()> make) {
    auto [it, isNew] = made.try_emplace(key);
    if (!isNew)
      return it->second;
    exec::KernelOp kernel = make();
    if (kernel && target.runsParts(kernel)) {
      symbols.insert(kernel);
      it->second = kernel;
    } else if (kernel) {
      kernel.erase();
    }
    return it->second;
  }

private:
  mlir::SymbolTable symbols;
  const Target &target;
  llvm::StringMap<exec::KernelOp> made;
};

/// Erases kernels and buffers that no command uses.
void eraseUnused(mlir::ModuleOp module);

} // namespace dlc
