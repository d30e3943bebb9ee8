// SPDX-License-Identifier: Apache-2.0
// A command computed by cuDNN: the choice of its plan, and its launch.
#pragma once

#include "runtime/device/cuda/CudaDevice.h"

namespace dlc {

// Binds the graph of `spec`, whose outputs are the graph's, in order: with the
// plan measured before; else, if the tuner measures, with the fastest of those
// that the library proposes; else with its first.
Result<std::unique_ptr<Command>> bindCudnn(CudaDevice &device,
                                           const CommandSpec &spec,
                                           const Cudnn &cudnn,
                                           std::unique_ptr<CudnnGraph> graph);

} // namespace dlc
