// Devices by the name that a plan calls its target.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/device/Tuning.h"
#include "runtime/exec/Reducer.h"

namespace dlc {

// Code::Incompatible for a device that this build or this machine does not
// have. `ordinal`: which GPU; 0 threads: all that there are.
Result<std::unique_ptr<Device>> makeDevice(std::string_view target, int threads,
                                           int ordinal,
                                           const TuneOptions &tune = {});

// What reduces on the device's own queue if it has one, else on the host. Both
// arguments outlive it. All ranks call it.
Result<std::unique_ptr<Reducer>> makeReducer(Device &device,
                                             Communicator &communicator,
                                             std::chrono::milliseconds timeout);

} // namespace dlc
