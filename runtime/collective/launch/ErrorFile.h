// SPDX-License-Identifier: Apache-2.0
// A failed rank's report to the launcher.
#pragma once

#include "runtime/base/Status.h"

namespace dlc {

// Writes an error into the file that torchrun names by TORCHELASTIC_ERROR_FILE,
// in its form, for the report of the job; nothing without one. The first error
// of a process stays.
void tellLauncher(const Status &status);

} // namespace dlc
