// SPDX-License-Identifier: Apache-2.0
#include "runtime/dlc.h"

namespace dlc {

const char *version() { return dlcVersion().data(); }

} // namespace dlc
