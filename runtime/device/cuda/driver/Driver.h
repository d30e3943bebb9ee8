// SPDX-License-Identifier: Apache-2.0
// The CUDA driver as a table of functions, opened at run time. dlc uses only
// the driver API, never the CUDA runtime.
#pragma once

#include "runtime/base/process/SharedLibrary.h"

#include <cuda.h>

#include <memory>

namespace dlc {

// The name, and the CUDA version that introduced the signature that dlc calls:
// an older driver function of that name may have other parameters. Driver.cpp
// checks both against cudaTypedefs.h, since cuda.h renames functions.
#define DLC_DRIVER_FUNCTIONS(F)                                                \
  F(cuInit, 2000)                                                              \
  F(cuGetErrorName, 6000)                                                      \
  F(cuGetErrorString, 6000)                                                    \
  F(cuDeviceGetCount, 2000)                                                    \
  F(cuDeviceGet, 2000)                                                         \
  F(cuDeviceGetName, 2000)                                                     \
  F(cuDeviceGetUuid, 11040)                                                    \
  F(cuDeviceGetAttribute, 2000)                                                \
  F(cuDeviceTotalMem, 3020)                                                    \
  F(cuDevicePrimaryCtxRetain, 7000)                                            \
  F(cuCtxSetCurrent, 4000)                                                     \
  F(cuCtxGetStreamPriorityRange, 5050)                                         \
  F(cuMemGetInfo, 3020)                                                        \
  F(cuMemAlloc, 3020)                                                          \
  F(cuMemFree, 3020)                                                           \
  F(cuMemHostAlloc, 2020)                                                      \
  F(cuMemFreeHost, 2000)                                                       \
  F(cuMemcpyHtoDAsync, 3020)                                                   \
  F(cuMemcpyDtoHAsync, 3020)                                                   \
  F(cuMemcpyDtoDAsync, 3020)                                                   \
  F(cuMemsetD8Async, 3020)                                                     \
  F(cuStreamCreateWithPriority, 5050)                                          \
  F(cuStreamDestroy, 4000)                                                     \
  F(cuStreamSynchronize, 2000)                                                 \
  F(cuStreamWaitEvent, 3020)                                                   \
  F(cuStreamBeginCapture, 10010)                                               \
  F(cuStreamEndCapture, 10000)                                                 \
  F(cuEventCreate, 2000)                                                       \
  F(cuEventDestroy, 4000)                                                      \
  F(cuEventRecord, 2000)                                                       \
  F(cuEventQuery, 2000)                                                        \
  F(cuEventSynchronize, 2000)                                                  \
  F(cuEventElapsedTime, 2000)                                                  \
  F(cuModuleLoadDataEx, 2010)                                                  \
  F(cuModuleUnload, 2000)                                                      \
  F(cuModuleGetFunction, 2000)                                                 \
  F(cuFuncGetAttribute, 2020)                                                  \
  F(cuFuncSetAttribute, 9000)                                                  \
  F(cuLaunchKernel, 4000)                                                      \
  F(cuGraphInstantiateWithFlags, 11040)                                        \
  F(cuGraphExecDestroy, 10000)                                                 \
  F(cuGraphDestroy, 10000)                                                     \
  F(cuGraphLaunch, 10000)

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
  // the driver's (`cuda`: 13000), since none of its kernels would run.
  // `isOnlyOne`: no version of the library for an older CUDA would be loaded.
  Status checkLibrary(std::string_view library, size_t cuda,
                      bool isOnlyOne = false) const;

private:
  int version_ = 0;
};

// 13000 -> "13.0"
std::string cudaVersionText(int version);

} // namespace dlc
