// SPDX-License-Identifier: Apache-2.0
// Generated kernels on the GPU.
#pragma once

#include "runtime/device/cuda/driver/Context.h"
#include "runtime/plan/KernelFiles.h"

#include <string>
#include <vector>

namespace dlc {

class GpuModules {
public:
  explicit GpuModules(const GpuContext &context) : context_(context) {}
  ~GpuModules();

  // Loads a file of machine code or PTX, or an artifact: for a GPU of compute
  // capability 9.0, kernels.sm_90.cubin of its manifest's files. If that is
  // missing or the driver is too old for it, loads PTX, which the driver
  // compiles: kernels.sm_90.ptx, else that of the next older SM. Incompatible
  // if nothing can be loaded, with the driver's message for each; Corrupt if a
  // file's hash differs from the manifest's.
  Status load(const KernelFiles &files);

  // The function for launches of `block` threads with `shared` bytes of dynamic
  // shared memory. Corrupt if no module has it, Incompatible if it was compiled
  // for fewer threads, or needs more shared memory than this GPU's blocks have.
  Result<CUfunction> function(const std::string &symbol, unsigned block,
                              int64_t shared) const;

private:
  Status loadImage(const std::string &image, const std::string &path);
  Status checkLaunch(CUfunction function, const std::string &symbol,
                     unsigned block, int64_t shared) const;

  const GpuContext &context_;
  std::vector<CUmodule> modules_;
  std::string path_;
};

} // namespace dlc
