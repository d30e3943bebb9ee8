// SPDX-License-Identifier: Apache-2.0
// The registry of devices, by the name that a plan calls its target. The
// compiler's half is compiler/target/Target.h.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/device/Findings.h"
#include "runtime/device/Tuning.h"
#include "runtime/exec/reduce/Reducer.h"

namespace dlc {

struct DeviceRequest {
  int threads = 0; // 0: all that there are
  int ordinal = 0; // which of several
  TuneOptions tune{};
};

struct DeviceType {
  std::string_view name; // outlives the process
  // Code::Incompatible, with the reason, where this machine does not have it.
  Result<std::unique_ptr<Device>> (*make)(const DeviceRequest &);
  // What reduces on the device's communication queue; null: only the host can,
  // where the device is the host.
  Result<std::unique_ptr<Reducer>> (*makeReducer)(
      CommunicationQueue &, Communicator &, std::chrono::milliseconds timeout,
      size_t groupSize) = nullptr;
  // What this machine has for it; null: nothing is told.
  Findings (*find)() = nullptr;
  // Those that this machine has, for the compiler; null: the host itself.
  Result<SeenDevices> (*see)() = nullptr;
};

// Adds to what this library has: for a program with a device of its own. Before
// any device is made; not thread-safe. The name must be new.
void registerDevice(const DeviceType &type);

// Code::Incompatible for a device that this build or this machine does not
// have.
Result<std::unique_ptr<Device>> makeDevice(std::string_view target,
                                           const DeviceRequest &request);

// What this machine has for each device of this build, by the device's name.
std::vector<std::pair<std::string, Findings>> findDevices();

// The devices of `target` that this machine has, at least one; Incompatible,
// with the reason, where it has none, or they are the host itself.
Result<SeenDevices> seeDevices(std::string_view target);

// What reduces on the queue of a device of `target`, or on the host that it is.
// Code::Incompatible for a device that can do neither. Device and communicator
// outlive it. All ranks call it. `groupSize`: see DeviceGroup.
Result<std::unique_ptr<Reducer>>
makeReducer(std::string_view target, Device &device, Communicator &communicator,
            std::chrono::milliseconds timeout, size_t groupSize = 0);

} // namespace dlc
