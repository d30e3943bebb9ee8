// SPDX-License-Identifier: Apache-2.0
// Kernels of attention on the host, by plain loops.
#pragma once

#include "test/gpu/Packs.h"

namespace dlc::test {

// y and lse among the inputs of a gradient, made to fit the others.
void completeInputs(const PackedKernel &kernel,
                    const std::vector<void *> &inputs);

void runOnHost(const PackedKernel &kernel, const std::vector<void *> &inputs,
               const std::vector<void *> &outputs);

} // namespace dlc::test
