// SPDX-License-Identifier: Apache-2.0
// Compiled objects on disk, found by a hash of their inputs.
#pragma once

#include "compiler/target/cpu/codegen/Compile.h"

namespace dlc {

/// An entry of the cache in `folder` (empty: no cache). A cache that cannot be
/// read or written only costs time: misses are not errors. Safe for concurrent
/// processes: entries are created by rename.
class ObjectCache {
public:
  /// The key is the unoptimized `module`, the target, the level and LLVM's
  /// version.
  ObjectCache(llvm::StringRef folder, const llvm::Module &module,
              const CpuTarget &target, unsigned optLevel);
  bool find(ObjectBytes &object) const;
  void store(const ObjectBytes &object) const;

  /// Removes the entries of `folder` that were found or stored longest ago,
  /// until the others have at most `most` bytes.
  static void prune(llvm::StringRef folder, uint64_t most);

private:
  std::string path;
};

} // namespace dlc
