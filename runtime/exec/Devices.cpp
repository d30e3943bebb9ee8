// SPDX-License-Identifier: Apache-2.0
// The registry of devices: each has a folder and a line here.
#include "runtime/exec/Devices.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/exec/reduce/CollectiveQueue.h"
#ifdef DLC_HAS_CUDA
#include "runtime/collective/nccl/Nccl.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/exec/reduce/DeviceReducer.h"
#endif

#include <algorithm>
#include <cassert>

namespace dlc {

static Result<std::unique_ptr<Device>>
makeCpuDevice(const DeviceRequest &request) {
  auto device = std::make_unique<CpuDevice>(request.threads);
  DLC_TRY(device->threads().check());
  return std::unique_ptr<Device>(std::move(device));
}

#ifdef DLC_HAS_CUDA
static Result<std::unique_ptr<Device>>
makeCudaDevice(const DeviceRequest &request) {
  DLC_ASSIGN(auto device, CudaDevice::create(request.ordinal, request.tune));
  return std::unique_ptr<Device>(std::move(device));
}

// How long ranks wait for each other's report on which rank failed.
constexpr std::chrono::milliseconds kAnswer{2000};

static Result<std::unique_ptr<Reducer>>
makeNcclReducer(CommunicationQueue &queue, Communicator &communicator,
                std::chrono::milliseconds timeout, size_t groupSize) {
  DeviceGroup group;
  DLC_ASSIGN(group.control, communicator.sibling(kAnswer));
  group.timeout = timeout;
  group.groupSize = groupSize;
  group.device = queue.device();
  auto log = std::make_shared<LaunchLog>(communicator.flightLog());
  group.completed = [&queue, log]() -> Result<uint64_t> {
    DLC_ASSIGN(const uint64_t stamp, queue.completed());
    log->complete(stamp);
    return stamp;
  };
  group.computed = [&queue] { return queue.passed(); };
  DLC_ASSIGN(auto nccl, makeNcclCommunicator(std::move(group)));
  return std::unique_ptr<Reducer>(std::make_unique<DeviceReducer>(
      queue, std::move(nccl), communicator.flightLog(), std::move(log)));
}

// NCCL is only needed with several GPUs.
static Findings findGpusAndNccl() {
  Findings found = findGpus();
  const auto gpus =
      std::count_if(found.begin(), found.end(), [](const Finding &one) {
        return one.what.starts_with("GPU ") && !one.value.empty();
      });
  const auto nccl = Nccl::open();
  found.push_back({"NCCL", nccl ? (*nccl)->versionText() : "",
                   nccl.status().message(), !nccl && gpus > 1});
  return found;
}
#endif

static std::vector<DeviceType> &types() {
  static std::vector<DeviceType> all = {
      {"cpu", makeCpuDevice, nullptr, findCpuLibraries},
#ifdef DLC_HAS_CUDA
      {"cuda", makeCudaDevice, makeNcclReducer, findGpusAndNccl, seeGpus},
#endif
  };
  return all;
}

static const DeviceType *find(std::string_view name) {
  const auto at = std::find_if(types().begin(), types().end(),
                               [&](auto &type) { return type.name == name; });
  return at == types().end() ? nullptr : &*at;
}

void registerDevice(const DeviceType &type) {
  assert(!find(type.name));
  types().push_back(type);
}

Result<std::unique_ptr<Device>> makeDevice(std::string_view target,
                                           const DeviceRequest &request) {
  const DeviceType *type = find(target);
  if (!type)
    return incompatible(
        "compiled for device '{}', which this build cannot run; "
        "compile the model again with --target=cpu",
        target);
  auto device = type->make(request);
  if (device.ok() || device.status().code() != Code::Incompatible)
    return device;
  return incompatible("compiled for device '{}', which this machine cannot "
                      "run: {}; or compile the model again with --target=cpu",
                      target, device.status().message());
}

std::vector<std::pair<std::string, Findings>> findDevices() {
  std::vector<std::pair<std::string, Findings>> found;
  for (const DeviceType &type : types())
    if (type.find)
      found.emplace_back(type.name, type.find());
  return found;
}

Result<SeenDevices> seeDevices(std::string_view target) {
  const DeviceType *type = find(target);
  return type && type->see
             ? type->see()
             : incompatible("this build sees no devices of '{}'", target);
}

Result<std::unique_ptr<Reducer>> makeReducer(std::string_view target,
                                             Device &device,
                                             Communicator &communicator,
                                             std::chrono::milliseconds timeout,
                                             size_t groupSize, bool overtakes) {
  CommunicationQueue *queue = device.communicationQueue();
  const DeviceType *type = find(target);
  if (queue && type && type->makeReducer)
    return type->makeReducer(*queue, communicator, timeout, groupSize);
  if (!device.isHost())
    return incompatible("{} cannot reduce between {} ranks", device.name(),
                        communicator.size());
  std::unique_ptr<Communicator> ahead;
  if (overtakes) {
    DLC_ASSIGN(ahead, communicator.sibling(timeout));
  }
  return std::unique_ptr<Reducer>(
      std::make_unique<CollectiveQueue>(communicator, std::move(ahead)));
}

} // namespace dlc
