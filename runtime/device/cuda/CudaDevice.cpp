// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/base/options/Environment.h"
#include "runtime/device/cuda/Kinds.h"
#include "runtime/device/cuda/Ranges.h"
#include "runtime/device/cuda/driver/Feed.h"
#include "runtime/device/cuda/driver/GpuReadback.h"
#include "runtime/device/cuda/driver/Graph.h"

namespace dlc {

CudaDevice::CudaDevice(std::unique_ptr<GpuContext> context, TuneOptions tune)
    : context_(std::move(context)),
      name_(fmt::format("cuda:{}", context_->ordinal())), memory_(*context_),
      modules_(*context_), communication_(*context_), hostCopies_(*context_),
      libraries_(*context_), tuner_(*context_, std::move(tune)) {}

Result<std::unique_ptr<CudaDevice>> CudaDevice::create(int ordinal,
                                                       TuneOptions tune) {
  DLC_ASSIGN(auto driver, Driver::open());
  DLC_ASSIGN(auto context, GpuContext::create(std::move(driver), ordinal));
  std::unique_ptr<CudaDevice> device(
      new CudaDevice(std::move(context), std::move(tune)));
  DLC_ASSIGN(device->staging_,
             Staging::create(*device->context_, device->memory_));
  return device;
}

// Waits, since the GPU may still use what is freed; errors have been reported.
CudaDevice::~CudaDevice() {
  context_->driver().cuCtxSetCurrent(nullptr);
  (void)context_->makeCurrent().ok();
  (void)synchronize().ok();
}

Result<std::byte *> CudaDevice::allocate(uint64_t bytes,
                                         std::string_view name) {
  DLC_ASSIGN(const CUdeviceptr data, memory_.allocate(bytes, name));
  return reinterpret_cast<std::byte *>(data);
}

Result<std::byte *> CudaDevice::allocateHost(uint64_t bytes) {
  auto data = memory_.pin(bytes, "offloaded activations");
  if (data.status().code() != Code::Limit)
    return data;
  return limitExceeded("{}; a larger --memory, or --offload=off, needs less",
                       data.status().message());
}

Status CudaDevice::upload(std::byte *to, const void *from, uint64_t bytes) {
  return staging_->upload(gpuAddress(to), from, bytes);
}

Status CudaDevice::download(void *to, const std::byte *from, uint64_t bytes) {
  return staging_->download(to, gpuAddress(from), bytes);
}

Status CudaDevice::fill(std::byte *to, uint8_t value, uint64_t bytes) {
  return context_->check(context_->driver().cuMemsetD8Async(
                             gpuAddress(to), value, bytes, context_->compute()),
                         fmt::format("fill of {} bytes", bytes));
}

Status CudaDevice::loadKernels(const KernelFiles &files) {
  opLibraries_.setFiles(files);
  return modules_.load(files);
}

Result<std::unique_ptr<Command>> CudaDevice::bind(const CommandSpec &spec) {
  const GpuFactory factory = findGpuKind(spec.command.kind());
  if (!factory)
    return incompatible("command '{}' is of kind '{}', which this version has "
                        "no CUDA code for",
                        spec.command.label(), spec.command.kind());
  if (!environment::marksCommands())
    return factory(*this, spec);
  DLC_ASSIGN(auto command, factory(*this, spec));
  return inRange(spec, std::move(command));
}

// A recorded step is one launch, without ranges.
bool CudaDevice::canRecord() const { return !environment::marksCommands(); }

Status CudaDevice::synchronize(std::string_view work) {
  const Driver &driver = context_->driver();
  const std::string_view what = work.empty() ? kEarlierWork : work;
  for (CUstream stream : {context_->copies(), context_->compute(),
                          context_->communication(), context_->results()})
    DLC_TRY(context_->check(driver.cuStreamSynchronize(stream), what));
  return hostCopies_.synchronize(what);
}

Status CudaDevice::beginRecording() {
  communication_.forgetPoints();
  return beginGraph(*context_);
}

Result<std::unique_ptr<Command>> CudaDevice::endRecording() {
  return endGraph(*context_);
}

Result<std::unique_ptr<InputFeed>> CudaDevice::inputFeed(uint64_t bytes) {
  return Feed::create(*context_, memory_, bytes);
}

Result<std::unique_ptr<Readback>>
CudaDevice::readback(std::span<const Operand> ranges) {
  return GpuReadback::create(*context_, memory_, ranges);
}

} // namespace dlc
