// SPDX-License-Identifier: Apache-2.0
// A matrix product and its sum over rows as two calls of cuBLASLt.
#pragma once

#include "runtime/device/commands/Epilogue.h"
#include "runtime/device/cuda/CudaDevice.h"

namespace dlc {

// For a command with a bias gradient for which the library has no fused
// algorithm: `why` is the library's refusal, which is reported once, and is the
// error if there is no algorithm for the product alone either. `spec` outlives
// the command.
Result<std::unique_ptr<Command>> bindProductApart(CudaDevice &device,
                                                  const CommandSpec &spec,
                                                  const Epilogue &epilogue,
                                                  const Status &why);

} // namespace dlc
