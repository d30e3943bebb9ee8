// SPDX-License-Identifier: Apache-2.0
// Runs GPU kernels on the host: the LLVM IR that becomes PTX, retargeted to
// this machine, with a fiber for each thread of a block.
//
// Blocks run one after another. Shared memory is filled with NaNs before each.
// It finds wrong indices, masks, exchanges, and barriers that are missing or
// not reached by all (run in several orders); it does not see races within a
// warp's instruction, the memory model, or speed.
#pragma once

#include "GpuCode.h"
#include "Guarded.h"

namespace llvm {
class LLVMContext;
class Module;
namespace orc {
class LLJIT;
}
} // namespace llvm

namespace dlc::test {

class Emulator : public GpuCode {
public:
  /// The kernels of an optimized module for a GPU. `error` says what cannot be
  /// emulated.
  Emulator(std::unique_ptr<llvm::LLVMContext> context,
           std::unique_ptr<llvm::Module> module, std::string &error);
  ~Emulator() override;

  std::string run(const std::string &kernel, int64_t grid, int64_t block,
                  const std::vector<void *> &arguments, Order order,
                  unsigned seed = 1) override;

private:
  struct Shared {
    std::string name;
    size_t bytes;
  };
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<Shared> shared;
};

} // namespace dlc::test
