// SPDX-License-Identifier: Apache-2.0
// A training step alone on a GPU: its inputs stay there, nothing of the host is
// in the times.
#pragma once

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/plan/Artifact.h"

namespace dlc::bench {

struct TimedCommand {
  std::string name; // of a generated kernel, else the kind
  std::string label;
  bool generated = false;
  uint64_t flops = 0, bytes = 0; // as the plan says
  double seconds = 0;            // of one run, among equal ones
};

class GpuStep {
public:
  // Allocates the plan's regions, loads the state, uploads random inputs and
  // binds train_step. The device, as the artifact, must outlive it.
  static Result<std::unique_ptr<GpuStep>> create(CudaDevice &device,
                                                 const Artifact &artifact);

  // Runs the step once, command by command; then records it.
  Status prepare();
  // Seconds of a recorded step: the median of `rounds` means of `steps`.
  Result<double> time(int steps, int rounds);
  // Each command in its turn, repeated: what it takes without launch gaps. The
  // state is of no use afterwards.
  Result<std::vector<TimedCommand>> timeCommands();
  // An output that is a float scalar.
  Result<double> scalar(std::string_view port);

private:
  GpuStep(CudaDevice &device, const plan::Plan &plan,
          const plan::Program &program)
      : device_(device), plan_(plan), program_(program) {}
  Status allocate();
  Status loadState(const std::string &path);
  Status addInputs();
  Status bindAll();
  Status enqueueAll();

  CudaDevice &device_;
  const plan::Plan &plan_;
  const plan::Program &program_;
  std::vector<std::byte *> regions_;
  plan::Command copy_; // of an input that stays to where the step wants it
  std::vector<std::unique_ptr<Command>> inputs_, commands_;
  std::unique_ptr<Command> recording_;
};

// Seconds of a command among equal ones, without launch gaps.
Result<double> timeAlone(CudaDevice &device, Command &command);

// Bytes a second of a copy within the device, read and written.
Result<double> copyBandwidth(CudaDevice &device);

} // namespace dlc::bench
