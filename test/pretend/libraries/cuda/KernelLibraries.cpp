// SPDX-License-Identifier: Apache-2.0
// What the real cuDNN and NVRTC want of a driver when they build plans: kernels
// are loaded and their shared memory is set, nothing is launched.
#include "test/pretend/libraries/cuda/Modules.h"
#include "test/pretend/libraries/cuda/Trace.h"

#include <algorithm>

namespace dlc::standin {
int driverVersion();

namespace {

// Shared memory of a block, with consent: CUDA programming guide, "Technical
// specifications per compute capability".
int mostShared(int sm) {
  return (sm == 80 || sm == 87 ? 163 : sm < 90 || sm >= 120 ? 99 : 227) << 10;
}

CUresult find(CUfunction_attribute attribute, const Function &kernel,
              int *&value) {
  static thread_local int own;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    own = static_cast<int>(kernel.most);
    break;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    own = kernel.ownShared;
    break;
  default:
    return violation(CUDA_ERROR_NOT_SUPPORTED,
                     fmt::format("cuKernelGetAttribute {} of {}",
                                 int(attribute), kernel.name));
  }
  value = &own;
  return CUDA_SUCCESS;
}

} // namespace
} // namespace dlc::standin

using namespace dlc::standin;

extern "C" {

// NVRTC asks for the driver's cache of kernels and does without one.
CUresult CUDAAPI cuGetExportTable(const void **table, const CUuuid *) {
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code,
                                   CUjit_option *, void **, unsigned,
                                   CUlibraryOption *, void **, unsigned) {
  Call call("cuLibraryLoadData", "");
  Module *module = nullptr;
  std::string log;
  const CUresult result = loadModule(
      code, driverVersion(), environment("DLC_STANDIN_SM", 90), module, log);
  *library = reinterpret_cast<CUlibrary>(module);
  return result == CUDA_SUCCESS
             ? result
             : violation(result, "cuLibraryLoadData: " + log);
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
  Call call("cuLibraryUnload", "");
  return unloadModule(reinterpret_cast<Module *>(library));
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary library,
                                    const char *name) {
  Call call("cuLibraryGetKernel", "{}", name);
  *kernel = reinterpret_cast<CUkernel>(
      findFunction(reinterpret_cast<Module *>(library), name));
  return *kernel ? CUDA_SUCCESS
                 : violation(CUDA_ERROR_NOT_FOUND,
                             fmt::format("cuLibraryGetKernel {}", name));
}

CUresult CUDAAPI cuKernelGetAttribute(int *value,
                                      CUfunction_attribute attribute,
                                      CUkernel kernel, CUdevice) {
  Call call("cuKernelGetAttribute", "{}", int(attribute));
  int *found = nullptr;
  const CUresult result =
      find(attribute, *reinterpret_cast<Function *>(kernel), found);
  if (found)
    *value = *found;
  return result;
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value,
                                      CUkernel kernel, CUdevice) {
  Call call("cuKernelSetAttribute", "{} = {}", int(attribute), value);
  auto &f = *reinterpret_cast<Function *>(kernel);
  const int most = mostShared(environment("DLC_STANDIN_SM", 90));
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
      f.ownShared + value > most)
    return violation(
        CUDA_ERROR_INVALID_VALUE,
        fmt::format("cuKernelSetAttribute {} = {} of {}, which has {} bytes of "
                    "its own",
                    int(attribute), value, f.name, f.ownShared));
  f.dynamicShared = std::max(f.dynamicShared, f.ownShared + value);
  return CUDA_SUCCESS;
}

// cuDNN looks for these by these names, but calls them only when plans run.
#define STANDIN_NOT_CALLED(name)                                               \
  CUresult notCalled_##name() asm(#name);                                      \
  CUresult notCalled_##name() {                                                \
    return violation(CUDA_ERROR_NOT_SUPPORTED, #name " is no part of it");     \
  }

STANDIN_NOT_CALLED(cuCtxGetCurrent)
STANDIN_NOT_CALLED(cuCtxGetLimit)
STANDIN_NOT_CALLED(cuCtxPopCurrent)
STANDIN_NOT_CALLED(cuCtxPushCurrent)
STANDIN_NOT_CALLED(cuStreamGetCtx)
STANDIN_NOT_CALLED(cuLinkCreate)
STANDIN_NOT_CALLED(cuLinkAddData)
STANDIN_NOT_CALLED(cuLinkComplete)
STANDIN_NOT_CALLED(cuLinkDestroy)
STANDIN_NOT_CALLED(cuLaunchCooperativeKernel)
STANDIN_NOT_CALLED(cuLaunchKernelEx)
STANDIN_NOT_CALLED(cuLibraryLoadFromFile)
STANDIN_NOT_CALLED(cuOccupancyMaxPotentialClusterSize)

} // extern "C"
