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
  // manifest lists, kernels.sm_90.cubin for a GPU of compute
  // capability 9.0, else the PTX of the newest that is not newer,
  // kernels.sm_80.ptx, which the driver compiles. Incompatible when neither
  // fits; Corrupt when the file has not the hash of the manifest.
  Status load(const KernelFiles &files);

  // Corrupt if no module has it; `shared` bytes of dynamic shared memory are
  // allowed for it.
  Result<CUfunction> function(const std::string &symbol, int64_t shared) const;

private:
  Status loadImage(const std::string &image, const std::string &path);

  const GpuContext &context_;
  std::vector<CUmodule> modules_;
  std::string path_;
};

} // namespace dlc
