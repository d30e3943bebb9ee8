// Devices by the name that a plan calls its target.
#pragma once

#include "runtime/device/Device.h"

namespace dlc {

// Code::Incompatible for a device that this build does not have.
Result<std::unique_ptr<Device>> makeDevice(std::string_view target,
                                           int threads);

} // namespace dlc
