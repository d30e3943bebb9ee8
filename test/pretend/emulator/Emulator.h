// SPDX-License-Identifier: Apache-2.0
// Runs GPU kernels on the host: the LLVM IR that becomes PTX, retargeted to
// this machine, with a fiber for each thread of a block.
//
// Blocks run one after another. Shared memory is filled with NaNs before each.
// It finds wrong indices, masks, exchanges, and barriers that are missing or
// not reached by all (run in several orders); it does not see races within a
// warp's instruction, the memory model, or speed.
#pragma once

#include "Fibers.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
namespace orc {
class LLJIT;
}
} // namespace llvm

namespace dlc::test {

/// A host array whose ends are guarded: an access beyond them ends the process
/// with a message.
class Guarded {
public:
  Guarded(const void *content, size_t bytes); // null: filled with 0xaa
  ~Guarded();
  Guarded(Guarded &&other) noexcept;
  Guarded &operator=(Guarded &&other) noexcept;
  Guarded(const Guarded &) = delete;
  uint8_t *data() const { return begin; }
  size_t size() const { return bytes; }

private:
  char *mapping;
  size_t mapped, bytes;
  uint8_t *begin;
};

class Emulator {
public:
  /// The kernels of an optimized module for a GPU. `error` says what cannot be
  /// emulated.
  Emulator(std::unique_ptr<llvm::LLVMContext> context,
           std::unique_ptr<llvm::Module> module, std::string &error);
  ~Emulator();

  /// Runs all blocks. Returns what went wrong; empty: nothing.
  std::string run(const std::string &kernel, int64_t grid, int64_t block,
                  const std::vector<void *> &arguments, Order order,
                  unsigned seed = 1);

private:
  struct Shared {
    std::string name;
    size_t bytes;
  };
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<Shared> shared;
};

} // namespace dlc::test
