// SPDX-License-Identifier: Apache-2.0
// Compiled objects on disk, found by the hash of what they were made from.
#pragma once

#include "compiler/target/cpu/codegen/Compile.h"

namespace dlc {

/// One entry of the cache in `folder` (empty: no cache). A cache that cannot be
/// read or written is only slow: misses are not errors. Safe between processes:
/// entries appear by rename.
class ObjectCache {
public:
  /// The key is the unoptimized `module`, the target, the level and LLVM's
  /// version.
  ObjectCache(llvm::StringRef folder, const llvm::Module &module,
              const CpuTarget &target, unsigned optLevel);
  bool find(ObjectBytes &object) const;
  void store(const ObjectBytes &object) const;

private:
  std::string path;
};

} // namespace dlc
