#include "runtime/exec/Devices.h"
#include "runtime/device/cpu/CpuDevice.h"

namespace dlc {

Result<std::unique_ptr<Device>> makeDevice(std::string_view target,
                                           int threads) {
  if (target == "cpu")
    return std::unique_ptr<Device>(std::make_unique<CpuDevice>(threads));
  return incompatible("compiled for device '{}', but this build has only cpu",
                      target);
}

} // namespace dlc
