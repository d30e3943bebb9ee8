// SPDX-License-Identifier: Apache-2.0
// CUDA's interface: what runtime/device/cuda/driver/Driver.h calls, and no
// more.
#include "runtime/device/cuda/driver/Driver.h"
#include "test/pretend/libraries/cuda/Contexts.h"
#include "test/pretend/libraries/cuda/Engine.h"
#include "test/pretend/libraries/cuda/Memory.h"
#include "test/pretend/libraries/cuda/Modules.h"
#include "test/pretend/libraries/cuda/Trace.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace dlc::standin;

int dlc::standin::driverVersion() {
  return environment("DLC_STANDIN_DRIVER_VERSION", 13000);
}

#define STANDIN_BEGIN(name, ...)                                               \
  Call call(name, __VA_ARGS__);                                                \
  if (call.error() != CUDA_SUCCESS)                                            \
  return call.error()
// Of a call that the driver documents to return INVALID_CONTEXT, or that is
// given a handle of a context.
#define STANDIN_IN_CONTEXT(name, ...)                                          \
  STANDIN_BEGIN(name, __VA_ARGS__);                                            \
  STANDIN_TRY(checkContext(name))
#define STANDIN_TRY(...)                                                       \
  if (const CUresult result = (__VA_ARGS__); result != CUDA_SUCCESS)           \
  return result

namespace {

template <class T> T *as(void *handle) { return static_cast<T *>(handle); }
void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

int ownSm() { return environment("DLC_STANDIN_SM", 90); }
int devices() { return environment("DLC_STANDIN_DEVICES", 1); }

constexpr int kMostShared = 227 << 10; // bytes of a block, with consent

CUresult copy(const char *name, void *to, const void *from, size_t bytes,
              CUstream stream, bool toDevice, bool fromDevice) {
  STANDIN_IN_CONTEXT(name, "{} <- {} {} bytes {}", placeOf(to), placeOf(from),
                     bytes, nameOf('s', stream));
  STANDIN_TRY(toDevice ? checkDevice(name, to, bytes)
                       : checkPinned(name, to, bytes));
  STANDIN_TRY(fromDevice ? checkDevice(name, from, bytes)
                         : checkPinned(name, from, bytes));
  return enqueue(as<Stream>(stream), name,
                 [=] {
                   std::memmove(to, from, bytes);
                   return CUDA_SUCCESS;
                 },
                 {{from, bytes, false}, {to, bytes, true}});
}

} // namespace

extern "C" {

CUresult CUDAAPI cuInit(unsigned) {
  STANDIN_BEGIN("cuInit", "");
  return devices() > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult CUDAAPI cuDriverGetVersion(int *version) {
  *version = driverVersion();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name) {
  switch (error) {
#define NAME(error)                                                            \
  case error:                                                                  \
    *name = #error;                                                            \
    return CUDA_SUCCESS;
    NAME(CUDA_ERROR_INVALID_VALUE)
    NAME(CUDA_ERROR_OUT_OF_MEMORY)
    NAME(CUDA_ERROR_NO_DEVICE)
    NAME(CUDA_ERROR_INVALID_IMAGE)
    NAME(CUDA_ERROR_NO_BINARY_FOR_GPU)
    NAME(CUDA_ERROR_INVALID_PTX)
    NAME(CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
    NAME(CUDA_ERROR_INVALID_CONTEXT)
    NAME(CUDA_ERROR_INVALID_HANDLE)
    NAME(CUDA_ERROR_NOT_FOUND)
    NAME(CUDA_ERROR_NOT_READY)
    NAME(CUDA_ERROR_ILLEGAL_ADDRESS)
    NAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
    NAME(CUDA_ERROR_LAUNCH_FAILED)
    NAME(CUDA_ERROR_NOT_SUPPORTED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
    NAME(CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
    NAME(CUDA_ERROR_CAPTURED_EVENT)
#undef NAME
  default:
    *name = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text) {
  *text = "an error of the stand-in driver";
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int *count) {
  STANDIN_BEGIN("cuDeviceGetCount", "");
  *count = devices();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal) {
  STANDIN_BEGIN("cuDeviceGet", "{}", ordinal);
  *device = ordinal;
  return ordinal < devices() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice) {
  STANDIN_BEGIN("cuDeviceGetName", "");
  const char *own = std::getenv("DLC_STANDIN_NAME");
  std::strncpy(name, own ? own : "Stand-in GPU", static_cast<size_t>(length));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  STANDIN_BEGIN("cuDeviceGetUuid", "{}", device);
  std::memset(uuid, 0, sizeof *uuid);
  uuid->bytes[0] = static_cast<char>(device + 1);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                      CUdevice) {
  STANDIN_BEGIN("cuDeviceGetAttribute", "{}", int(attribute));
  const int sm = ownSm();
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = sm / 10;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = sm % 10;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 132;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: // small: memsets of it are quick
    *value = 1 << 20;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = kMostShared;
    return CUDA_SUCCESS;
  default:
    return violation(CUDA_ERROR_NOT_SUPPORTED,
                     fmt::format("no value for attribute {}", int(attribute)));
  }
}

CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice) {
  STANDIN_BEGIN("cuDeviceTotalMem", "");
  *bytes = deviceMemoryTotal();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  STANDIN_BEGIN("cuDevicePrimaryCtxRetain", "{}", device);
  return retainPrimary(context, device);
}

// Not called: tests see by it what a release would do.
CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
  STANDIN_BEGIN("cuDevicePrimaryCtxRelease", "{}", device);
  return releasePrimary(device);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  std::lock_guard lock(world());
  return setCurrent(context);
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  STANDIN_BEGIN("cuCtxGetStreamPriorityRange", "");
  *least = 0, *greatest = -5;
  return CUDA_SUCCESS;
}

// --- memory ---

CUresult CUDAAPI cuMemGetInfo(size_t *free, size_t *total) {
  STANDIN_IN_CONTEXT("cuMemGetInfo", "");
  *free = deviceMemoryFree(), *total = deviceMemoryTotal();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  STANDIN_IN_CONTEXT("cuMemAlloc", "{} bytes", bytes);
  STANDIN_TRY(checkNotCapturing("cuMemAlloc"));
  void *data = nullptr;
  STANDIN_TRY(allocateBlock(bytes, false, data));
  *address = reinterpret_cast<CUdeviceptr>(data);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
  STANDIN_IN_CONTEXT("cuMemFree", "{}", placeOf(pointer(address)));
  STANDIN_TRY(checkNotCapturing("cuMemFree"));
  return freeBlock(pointer(address), false);
}

CUresult CUDAAPI cuMemHostAlloc(void **data, size_t bytes, unsigned) {
  STANDIN_IN_CONTEXT("cuMemHostAlloc", "{} bytes", bytes);
  STANDIN_TRY(checkNotCapturing("cuMemHostAlloc"));
  return allocateBlock(bytes, true, *data);
}

CUresult CUDAAPI cuMemFreeHost(void *data) {
  STANDIN_IN_CONTEXT("cuMemFreeHost", "{}", placeOf(data));
  return freeBlock(data, true);
}

CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void *from,
                                   size_t bytes, CUstream stream) {
  return copy("cuMemcpyHtoDAsync", pointer(to), from, bytes, stream, true,
              false);
}

CUresult CUDAAPI cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                                   CUstream stream) {
  return copy("cuMemcpyDtoHAsync", to, pointer(from), bytes, stream, false,
              true);
}

CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from,
                                   size_t bytes, CUstream stream) {
  return copy("cuMemcpyDtoDAsync", pointer(to), pointer(from), bytes, stream,
              true, true);
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value,
                                 size_t bytes, CUstream stream) {
  STANDIN_IN_CONTEXT("cuMemsetD8Async", "{} {} bytes {}", placeOf(pointer(to)),
                     bytes, nameOf('s', stream));
  STANDIN_TRY(checkDevice("cuMemsetD8Async", pointer(to), bytes));
  return enqueue(as<Stream>(stream), "memset",
                 [=] {
                   std::memset(pointer(to), value, bytes);
                   return CUDA_SUCCESS;
                 },
                 {{pointer(to), bytes, true}});
}

// --- streams and events ---

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *stream, unsigned,
                                            int priority) {
  STANDIN_IN_CONTEXT("cuStreamCreateWithPriority", "priority {}", priority);
  *stream = reinterpret_cast<CUstream>(createStream());
  nameOf('s', *stream);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream) {
  STANDIN_IN_CONTEXT("cuStreamDestroy", "{}", nameOf('s', stream));
  return destroyStream(as<Stream>(stream));
}

CUresult CUDAAPI cuStreamSynchronize(CUstream stream) {
  STANDIN_IN_CONTEXT("cuStreamSynchronize", "{}", nameOf('s', stream));
  STANDIN_TRY(checkNotCapturing("cuStreamSynchronize"));
  STANDIN_TRY(synchronize(as<Stream>(stream), call.lock()));
  return stickyError();
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  STANDIN_IN_CONTEXT("cuStreamWaitEvent", "{} {}", nameOf('s', stream),
                     nameOf('e', event));
  return waitEvent(as<Stream>(stream), as<Event>(event));
}

CUresult CUDAAPI cuEventCreate(CUevent *event, unsigned flags) {
  STANDIN_IN_CONTEXT("cuEventCreate", "");
  const bool isTimed = !(flags & CU_EVENT_DISABLE_TIMING);
  *event = reinterpret_cast<CUevent>(createEvent(isTimed));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventDestroy(CUevent event) {
  Call call("cuEventDestroy", "{}", nameOf('e', event));
  STANDIN_TRY(checkContext("cuEventDestroy"));
  return destroyEvent(as<Event>(event));
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
  STANDIN_IN_CONTEXT("cuEventRecord", "{} {}", nameOf('e', event),
                     nameOf('s', stream));
  return recordEvent(as<Event>(event), as<Stream>(stream));
}

// Not traced: how often a host thread asks is a matter of time.
CUresult CUDAAPI cuEventQuery(CUevent event) {
  std::lock_guard lock(world());
  if (const CUresult error = stickyError(); error != CUDA_SUCCESS)
    return error;
  STANDIN_TRY(checkContext("cuEventQuery"));
  return queryEvent(as<Event>(event));
}

CUresult CUDAAPI cuEventSynchronize(CUevent event) {
  STANDIN_IN_CONTEXT("cuEventSynchronize", "{}", nameOf('e', event));
  STANDIN_TRY(checkNotCapturing("cuEventSynchronize"));
  STANDIN_TRY(synchronizeEvent(as<Event>(event), call.lock()));
  return stickyError();
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start,
                                    CUevent end) {
  STANDIN_IN_CONTEXT("cuEventElapsedTime", "{} {}", nameOf('e', start),
                     nameOf('e', end));
  return elapsed(milliseconds, as<Event>(start), as<Event>(end));
}

// --- modules ---

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image,
                                    unsigned count, CUjit_option *options,
                                    void **values) {
  STANDIN_IN_CONTEXT("cuModuleLoadDataEx", "");
  STANDIN_TRY(checkNotCapturing("cuModuleLoadDataEx"));
  Module *loaded = nullptr;
  std::string log;
  const CUresult result =
      loadModule(image, driverVersion(), ownSm(), loaded, log);
  *module = reinterpret_cast<CUmodule>(loaded);
  char *text = nullptr;
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      text = static_cast<char *>(values[i]);
    else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES && text)
      std::snprintf(text, reinterpret_cast<size_t>(values[i]), "%s",
                    log.c_str());
    else
      return violation(CUDA_ERROR_INVALID_VALUE, "an option of the JIT");
  return result;
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  STANDIN_IN_CONTEXT("cuModuleUnload", "");
  return unloadModule(as<Module>(module));
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module,
                                     const char *name) {
  STANDIN_IN_CONTEXT("cuModuleGetFunction", "{}", name);
  *function =
      reinterpret_cast<CUfunction>(findFunction(as<Module>(module), name));
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                                    CUfunction function) {
  STANDIN_IN_CONTEXT("cuFuncGetAttribute", "{} {}",
                     as<Function>(function)->name, int(attribute));
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
    *value = static_cast<int>(as<Function>(function)->most);
  else if (attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
    *value = as<Function>(function)->ownShared;
  else
    return violation(CUDA_ERROR_INVALID_VALUE, "attribute of a kernel");
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function,
                                    CUfunction_attribute attribute, int value) {
  STANDIN_IN_CONTEXT("cuFuncSetAttribute", "{} {} = {}",
                     as<Function>(function)->name, int(attribute), value);
  Function &f = *as<Function>(function);
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
      f.ownShared + value > kMostShared)
    return violation(CUDA_ERROR_INVALID_VALUE, "bad attribute of a kernel");
  f.dynamicShared = std::max(f.dynamicShared, f.ownShared + value);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy,
                                unsigned gz, unsigned bx, unsigned by,
                                unsigned bz, unsigned shared, CUstream stream,
                                void **parameters, void **) {
  STANDIN_TRY(isLive(as<Function>(function))
                  ? CUDA_SUCCESS
                  : violation(CUDA_ERROR_INVALID_HANDLE,
                              "launch of a kernel whose module is gone"));
  STANDIN_IN_CONTEXT("cuLaunchKernel", "{} grid {},{},{} block {},{},{} {}",
                     as<Function>(function)->name, gx, gy, gz, bx, by, bz,
                     nameOf('s', stream));
  return launchKernel(as<Function>(function),
                      {{gx, gy, gz}, {bx, by, bz}, shared, parameters}, stream);
}

// --- graphs ---

CUresult CUDAAPI cuStreamBeginCapture(CUstream stream,
                                      CUstreamCaptureMode mode) {
  STANDIN_IN_CONTEXT("cuStreamBeginCapture", "{}", nameOf('s', stream));
  return beginCapture(as<Stream>(stream),
                      mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

CUresult CUDAAPI cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  Call call("cuStreamEndCapture", "{}", nameOf('s', stream));
  STANDIN_TRY(checkContext("cuStreamEndCapture"));
  *graph = nullptr;
  STANDIN_TRY(endCapture(as<Stream>(stream), graph));
  return call.error();
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *executable,
                                             CUgraph graph,
                                             unsigned long long) {
  STANDIN_IN_CONTEXT("cuGraphInstantiateWithFlags", "");
  GraphExec *made = nullptr;
  STANDIN_TRY(instantiate(graph, &made));
  *executable = reinterpret_cast<CUgraphExec>(made);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  STANDIN_IN_CONTEXT("cuGraphLaunch", "{} with {} nodes {}",
                     nameOf('g', executable),
                     nodesOf(as<GraphExec>(executable)), nameOf('s', stream));
  return launch(as<GraphExec>(executable), as<Stream>(stream));
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec executable) {
  Call call("cuGraphExecDestroy", "{}", nameOf('g', executable));
  return destroyExecutable(as<GraphExec>(executable));
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
  Call call("cuGraphDestroy", "");
  return destroyGraph(graph);
}

// By the rules of the documentation: no driver knows newer versions than its
// own, and who asks for an old version gets the function's old form.
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function,
                                  int version, cuuint64_t,
                                  CUdriverProcAddressQueryResult *state) {
  *function = nullptr;
  if (state) // optional
    *state = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (version > driverVersion())
    return CUDA_ERROR_INVALID_VALUE;
  const std::string name = symbol;
  if (listed("DLC_STANDIN_MISSING", name))
    return CUDA_SUCCESS;
  int form = 0;
#define STANDIN_FIND(own, introduced)                                          \
  if (name == #own) {                                                          \
    *function = reinterpret_cast<void *>(&own);                                \
    form = introduced;                                                         \
  }
  DLC_DRIVER_FUNCTIONS(STANDIN_FIND)
  if (form > version)
    return violation(CUDA_ERROR_INVALID_VALUE,
                     fmt::format("the form of {} for CUDA {} has other "
                                 "parameters",
                                 name, version));
  if (*function && state)
    *state = CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}

} // extern "C"
