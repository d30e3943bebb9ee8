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

  // A file of machine code or PTX, or an artifact: then, of the files that its
  // manifest lists, kernels.sm_90.cubin for a GPU of compute capability 9.0. If
  // there is none or the driver is too old for it, PTX, which the driver
  // compiles: kernels.sm_90.ptx, else that of the newest SM before.
  // Incompatible when nothing fits, with what the driver said of each; Corrupt
  // when a file has not the hash of the manifest.
  Status load(const KernelFiles &files);

  // For launches of `block` threads with `shared` bytes of dynamic shared
  // memory. Corrupt if no module has it, Incompatible if it was compiled for
  // fewer threads, or needs more shared memory than a block has here.
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
