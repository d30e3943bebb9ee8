// SPDX-License-Identifier: Apache-2.0
// A failed rank's report to the launcher.
#pragma once

#include "runtime/base/Status.h"

namespace dlc {

// Writes an error to the file that torchrun names by TORCHELASTIC_ERROR_FILE,
// in torchrun's format, for its report of the job; does nothing without one.
// Only the first error of a process is written.
void tellLauncher(const Status &status);

} // namespace dlc
