// SPDX-License-Identifier: Apache-2.0
// A step as one CUDA graph: recorded once, launched in every step.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/cuda/driver/Context.h"

namespace dlc {

// Work that this thread enqueues on the compute stream, and on streams that
// wait for it, goes into a graph until endGraph(). The communication stream
// must have been joined by then.
Status beginGraph(const GpuContext &context);
Result<std::unique_ptr<Command>> endGraph(const GpuContext &context);

} // namespace dlc
