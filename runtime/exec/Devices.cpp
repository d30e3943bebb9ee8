#include "runtime/exec/Devices.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/exec/CollectiveQueue.h"
#ifdef DLC_HAS_CUDA
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/exec/DeviceReducer.h"
#endif

namespace dlc {

Result<std::unique_ptr<Device>> makeDevice(std::string_view target, int threads,
                                           int ordinal,
                                           const TuneOptions &tune) {
  if (target == "cpu") {
    auto device = std::make_unique<CpuDevice>(threads);
    DLC_TRY(device->threads().check());
    return std::unique_ptr<Device>(std::move(device));
  }
#ifdef DLC_HAS_CUDA
  if (target == "cuda") {
    auto device = CudaDevice::create(ordinal, tune);
    if (device.ok())
      return std::unique_ptr<Device>(*std::move(device));
    const Status error = device.status();
    return error.code() != Code::Incompatible
               ? error
               : incompatible("compiled for device 'cuda', which this machine "
                              "cannot run: {}; or compile the model again with "
                              "--target=cpu",
                              error.message());
  }
#endif
  return incompatible("compiled for device '{}', which this build cannot run; "
                      "compile the model again with --target=cpu",
                      target);
}

#ifdef DLC_HAS_CUDA
// How long the ranks wait for each other's answer about who failed.
constexpr std::chrono::milliseconds kAnswer{2000};

static Result<std::unique_ptr<Reducer>>
makeDeviceReducer(CommunicationQueue &queue, Communicator &communicator,
                  std::chrono::milliseconds timeout) {
  DeviceGroup group;
  DLC_ASSIGN(group.control, communicator.sibling(kAnswer));
  group.timeout = timeout;
  group.completed = [&queue] { return queue.completed(); };
  group.computed = [&queue] { return queue.passed(); };
  DLC_ASSIGN(auto nccl, makeNcclCommunicator(std::move(group)));
  return std::unique_ptr<Reducer>(
      std::make_unique<DeviceReducer>(queue, std::move(nccl)));
}
#endif

Result<std::unique_ptr<Reducer>>
makeReducer(Device &device, Communicator &communicator,
            std::chrono::milliseconds timeout) {
#ifdef DLC_HAS_CUDA
  if (CommunicationQueue *queue = device.communicationQueue())
    return makeDeviceReducer(*queue, communicator, timeout);
#endif
  return std::unique_ptr<Reducer>(
      std::make_unique<CollectiveQueue>(communicator));
}

} // namespace dlc
