#include "runtime/exec/Devices.h"
#include "runtime/device/cpu/CpuDevice.h"

namespace dlc {

Result<std::unique_ptr<Device>> makeDevice(std::string_view target,
                                           int threads) {
  if (target == "cpu")
    return std::unique_ptr<Device>(std::make_unique<CpuDevice>(threads));
  return incompatible("compiled for device '{}', which this build cannot run; "
                      "compile the model again with --target=cpu",
                      target);
}

} // namespace dlc
