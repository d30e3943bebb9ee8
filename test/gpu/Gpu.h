// SPDX-License-Identifier: Apache-2.0
// What the programs for a real GPU share. Their main() ends with kSkipped and
// the reason on its last line when there is none.
#pragma once

#include "runtime/device/cuda/CudaDevice.h"

namespace dlc::test {

constexpr int kSkipped = 77;

// The first GPU, opened by the first call; main() has seen that there is one.
// `tune` is for the call that opens it.
CudaDevice &gpu(const TuneOptions &tune = {});
// It is opened again by the next call. Its memory and commands must be gone.
void closeGpu();

// 0 if there is a GPU, kSkipped if not, 1 if it does not work; says why.
int findGpu();

} // namespace dlc::test
