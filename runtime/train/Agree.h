// One outcome on all ranks.
#pragma once

#include "runtime/collective/Communicator.h"

namespace dlc {

// Every rank tells how it fared; all get the error of the first rank that has
// one, or success.
Status agree(Communicator &communicator, const Status &own);

} // namespace dlc
