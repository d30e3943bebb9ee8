// SPDX-License-Identifier: Apache-2.0
// The CUDA driver as a table of functions, opened at run time. dlc uses only
// the driver API, never the CUDA runtime.
#pragma once

#include "runtime/base/process/SharedLibrary.h"

#include <cuda.h>

#include <memory>

namespace dlc {

// The name, and the CUDA version whose form of the function dlc calls, as
// cuda.h declares it.
#define DLC_DRIVER_FUNCTIONS(F)                                                \
  F(cuInit, 12000)                                                             \
  F(cuGetErrorName, 12000)                                                     \
  F(cuGetErrorString, 12000)                                                   \
  F(cuDeviceGetCount, 12000)                                                   \
  F(cuDeviceGet, 12000)                                                        \
  F(cuDeviceGetName, 12000)                                                    \
  F(cuDeviceGetUuid, 12000)                                                    \
  F(cuDeviceGetAttribute, 12000)                                               \
  F(cuDeviceTotalMem, 12000)                                                   \
  F(cuDevicePrimaryCtxRetain, 12000)                                           \
  F(cuCtxSetCurrent, 12000)                                                    \
  F(cuCtxGetStreamPriorityRange, 12000)                                        \
  F(cuMemGetInfo, 12000)                                                       \
  F(cuMemAlloc, 12000)                                                         \
  F(cuMemFree, 12000)                                                          \
  F(cuMemHostAlloc, 12000)                                                     \
  F(cuMemFreeHost, 12000)                                                      \
  F(cuMemcpyHtoDAsync, 12000)                                                  \
  F(cuMemcpyDtoHAsync, 12000)                                                  \
  F(cuMemcpyDtoDAsync, 12000)                                                  \
  F(cuMemsetD8Async, 12000)                                                    \
  F(cuStreamCreateWithPriority, 12000)                                         \
  F(cuStreamDestroy, 12000)                                                    \
  F(cuStreamSynchronize, 12000)                                                \
  F(cuStreamWaitEvent, 12000)                                                  \
  F(cuStreamBeginCapture, 12000)                                               \
  F(cuStreamEndCapture, 12000)                                                 \
  F(cuEventCreate, 12000)                                                      \
  F(cuEventDestroy, 12000)                                                     \
  F(cuEventRecord, 12000)                                                      \
  F(cuEventQuery, 12000)                                                       \
  F(cuEventSynchronize, 12000)                                                 \
  F(cuEventElapsedTime, 12000)                                                 \
  F(cuModuleLoadDataEx, 12000)                                                 \
  F(cuModuleUnload, 12000)                                                     \
  F(cuModuleGetFunction, 12000)                                                \
  F(cuFuncGetAttribute, 12000)                                                 \
  F(cuFuncSetAttribute, 12000)                                                 \
  F(cuLaunchKernel, 12000)                                                     \
  F(cuGraphInstantiate, 12000)                                                 \
  F(cuGraphExecDestroy, 12000)                                                 \
  F(cuGraphDestroy, 12000)                                                     \
  F(cuGraphLaunch, 12000)

struct DriverFunctions {
#define DLC_FIELD(name, version) decltype(&::name) name = nullptr;
  DLC_DRIVER_FUNCTIONS(DLC_FIELD)
#undef DLC_FIELD
};

// Thread-safe, as the driver is.
class Driver : public DriverFunctions {
public:
  // Opens libcuda.so.1 and calls cuInit. Incompatible when there is none, it is
  // too old (CUDA 12.0 is expected) or it finds no GPU.
  static Result<std::shared_ptr<const Driver>> open();
  // Whether the dynamic loader finds a driver of any version.
  static bool isInstalled();

  int version() const { return version_; } // 13000 for CUDA 13.0
  std::string versionText() const;

  // "<action>: CUDA_ERROR_NAME: the driver's text". Limit when memory is short,
  // Incompatible when the GPU cannot run the code.
  Status check(CUresult result, std::string_view action) const;

  // Incompatible if `library` was made for a newer major version of CUDA than
  // the driver (`cuda`: 13000): then none of its kernels runs. `isOnlyOne`: no
  // version of it that is for an older CUDA would be loaded.
  Status checkLibrary(std::string_view library, size_t cuda,
                      bool isOnlyOne = false) const;

private:
  int version_ = 0;
};

// 13000 -> "13.0"
std::string cudaVersionText(int version);

} // namespace dlc
