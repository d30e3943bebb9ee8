// SPDX-License-Identifier: Apache-2.0
// The registry of devices by their name in plans. The compiler's part is
// compiler/target/Target.h.
#pragma once

#include "runtime/collective/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/device/Findings.h"
#include "runtime/device/Tuning.h"
#include "runtime/exec/reduce/Reducer.h"

namespace dlc {

struct DeviceRequest {
  int threads = 0; // 0: all available
  int ordinal = 0; // index among several devices
  TuneOptions tune{};
};

struct DeviceType {
  std::string_view name; // static storage
  // Code::Incompatible, with the reason, if this machine does not have it.
  Result<std::unique_ptr<Device>> (*make)(const DeviceRequest &);
  // Creates a Reducer on the device's communication queue; null: only the host
  // can reduce, and only if it is the device.
  Result<std::unique_ptr<Reducer>> (*makeReducer)(
      CommunicationQueue &, Communicator &, std::chrono::milliseconds timeout,
      size_t groupSize) = nullptr;
  // Reports what this machine has for it; null: nothing is reported.
  Findings (*find)() = nullptr;
  // The devices that this machine has, for the compiler; null: the host itself.
  Result<SeenDevices> (*see)() = nullptr;
};

// Registers a device, for a program with a device of its own. Must be called
// before a device is made; not thread-safe. The name must be new.
void registerDevice(const DeviceType &type);

// Code::Incompatible for a device that this build or this machine lacks.
Result<std::unique_ptr<Device>> makeDevice(std::string_view target,
                                           const DeviceRequest &request);

// What this machine has for each device of this build, by the device's name.
std::vector<std::pair<std::string, Findings>> findDevices();

// The devices of `target` that this machine has, at least one; Incompatible,
// with the reason, if there is none or if the device is the host itself.
Result<SeenDevices> seeDevices(std::string_view target);

// A Reducer on the queue of a device of `target`, or on the host if that is the
// device. Code::Incompatible for a device that has neither. Device and
// communicator must outlive it. All ranks must call it. `groupSize`: see
// DeviceGroup. `overtakes`: the plan has reductions that may overtake others;
// on the host they get their own connections. A device runs all reductions in
// one queue: kernels of two communicators that start in different orders on
// different ranks can deadlock.
Result<std::unique_ptr<Reducer>>
makeReducer(std::string_view target, Device &device, Communicator &communicator,
            std::chrono::milliseconds timeout, size_t groupSize = 0,
            bool overtakes = false);

} // namespace dlc
