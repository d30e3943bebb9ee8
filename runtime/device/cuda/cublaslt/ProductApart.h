// SPDX-License-Identifier: Apache-2.0
// A product and the sum over rows that comes with it, in two calls of cuBLASLt.
#pragma once

#include "runtime/device/commands/Epilogue.h"
#include "runtime/device/cuda/CudaDevice.h"

namespace dlc {

// For a command with the gradient of a bias, where the library has no algorithm
// for both in one call: `why` is its refusal, which is said once, and is the
// error if there is none for the product alone either. `spec` outlives the
// command.
Result<std::unique_ptr<Command>> bindProductApart(CudaDevice &device,
                                                  const CommandSpec &spec,
                                                  const Epilogue &epilogue,
                                                  const Status &why);

} // namespace dlc
