// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/driver/Context.h"

#include <map>
#include <mutex>

namespace dlc {

// Retained on first use, for the life of the process.
static Result<CUcontext> primaryContext(const Driver &driver, CUdevice device) {
  static std::mutex mutex;
  static std::map<CUdevice, CUcontext> retained;
  std::lock_guard lock(mutex);
  CUcontext &context = retained[device];
  if (!context)
    DLC_TRY(driver.check(driver.cuDevicePrimaryCtxRetain(&context, device),
                         fmt::format("cannot use GPU {}", device)));
  return context;
}

Result<std::unique_ptr<GpuContext>>
GpuContext::create(std::shared_ptr<const Driver> driver, int ordinal) {
  std::unique_ptr<GpuContext> context(new GpuContext(std::move(driver)));
  DLC_TRY(context->open(ordinal));
  return context;
}

Status GpuContext::open(int ordinal) {
  int count = 0;
  DLC_TRY(check(driver_->cuDeviceGetCount(&count), "cuDeviceGetCount"));
  ordinal_ = count == 1 ? 0 : ordinal;
  if (ordinal_ >= count)
    return usageError("GPU {} was asked for, but this process sees {}; start "
                      "at most one rank for each GPU, or see "
                      "CUDA_VISIBLE_DEVICES",
                      ordinal_, count);
  DLC_TRY(check(driver_->cuDeviceGet(&device_, ordinal_), "cuDeviceGet"));
  DLC_TRY(readProperties());
  DLC_ASSIGN(context_, primaryContext(*driver_, device_));
  DLC_TRY(makeCurrent());
  int least = 0, greatest = 0;
  DLC_TRY(check(driver_->cuCtxGetStreamPriorityRange(&least, &greatest),
                "cuCtxGetStreamPriorityRange"));
  const auto open = [&](CUstream &stream, int priority) {
    return check(driver_->cuStreamCreateWithPriority(
                     &stream, CU_STREAM_NON_BLOCKING, priority),
                 "cuStreamCreateWithPriority");
  };
  DLC_TRY(open(compute_, least));
  DLC_TRY(open(communication_, greatest));
  DLC_TRY(open(copies_, least));
  return open(results_, least);
}

Status GpuContext::readProperties() {
  char name[256] = "";
  DLC_TRY(check(driver_->cuDeviceGetName(name, sizeof name - 1, device_),
                "cuDeviceGetName"));
  properties_.name = name;
  CUuuid uuid = {};
  DLC_TRY(check(driver_->cuDeviceGetUuid(&uuid, device_), "cuDeviceGetUuid"));
  properties_.uuid = "GPU-";
  for (const char byte : uuid.bytes)
    properties_.uuid += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  const auto read = [&](CUdevice_attribute attribute, int &value) {
    return check(driver_->cuDeviceGetAttribute(&value, attribute, device_),
                 "cuDeviceGetAttribute");
  };
  int major = 0, minor = 0;
  DLC_TRY(read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major));
  DLC_TRY(read(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor));
  DLC_TRY(read(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
               properties_.multiprocessors));
  DLC_TRY(read(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
               properties_.sharedPerBlock));
  int l2 = 0;
  DLC_TRY(read(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, l2));
  properties_.l2 = static_cast<uint64_t>(l2);
  properties_.sm = major * 10 + minor;
  size_t bytes = 0;
  DLC_TRY(
      check(driver_->cuDeviceTotalMem(&bytes, device_), "cuDeviceTotalMem"));
  properties_.memory = bytes;
  return {};
}

GpuContext::~GpuContext() {
  if (!context_)
    return;
  driver_->cuCtxSetCurrent(context_);
  for (CUstream stream : {compute_, communication_, copies_, results_})
    if (stream)
      driver_->cuStreamDestroy(stream);
}

Status GpuContext::makeCurrent() const {
  return check(driver_->cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

Result<GpuEvent> GpuEvent::create(const GpuContext &context, bool timed) {
  CUevent event = nullptr;
  unsigned flags = CU_EVENT_BLOCKING_SYNC;
  if (!timed)
    flags |= CU_EVENT_DISABLE_TIMING;
  DLC_TRY(context.check(context.driver().cuEventCreate(&event, flags),
                        "cuEventCreate"));
  return GpuEvent(context, event);
}

GpuEvent::~GpuEvent() {
  if (event_)
    context_->driver().cuEventDestroy(event_);
}

Status GpuEvent::record(CUstream stream) const {
  return context_->check(context_->driver().cuEventRecord(event_, stream),
                         "cuEventRecord");
}

Status GpuEvent::holdBack(CUstream stream) const {
  return context_->check(context_->driver().cuStreamWaitEvent(
                             stream, event_, CU_EVENT_WAIT_DEFAULT),
                         "cuStreamWaitEvent");
}

Result<bool> GpuEvent::done() const {
  const CUresult result = context_->driver().cuEventQuery(event_);
  if (result == CUDA_ERROR_NOT_READY)
    return false;
  DLC_TRY(context_->check(result, "cuEventQuery"));
  return true;
}

Result<double> GpuEvent::millisecondsSince(const GpuEvent &start) const {
  float milliseconds = 0;
  DLC_TRY(context_->check(context_->driver().cuEventElapsedTime(
                              &milliseconds, start.event_, event_),
                          "cuEventElapsedTime"));
  return static_cast<double>(milliseconds);
}

Status GpuEvent::wait() const {
  return context_->check(context_->driver().cuEventSynchronize(event_),
                         "cuEventSynchronize");
}

} // namespace dlc
