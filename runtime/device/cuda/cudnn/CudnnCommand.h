// SPDX-License-Identifier: Apache-2.0
// A command that cuDNN does: which of its plans, and starting it.
#pragma once

#include "runtime/device/cuda/CudaDevice.h"

namespace dlc {

// Binds the graph of `spec`, whose outputs are the graph's in order: by the
// plan that was measured before, else by the fastest of those that the library
// proposes if the tuner measures, else by its first.
Result<std::unique_ptr<Command>> bindCudnn(CudaDevice &device,
                                           const CommandSpec &spec,
                                           const Cudnn &cudnn,
                                           std::unique_ptr<CudnnGraph> graph);

} // namespace dlc
