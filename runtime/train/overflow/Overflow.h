// SPDX-License-Identifier: Apache-2.0
// Where an update first becomes infinite or NaN.
#pragma once

#include "runtime/train/session/Session.h"

namespace dlc {

// The first place, in program order over the micro-batches of an update and
// over the ranks, as text for people: the ONNX nodes, the operation, its types,
// how many results are infinite or NaN, the range of what it reads, and what
// would mend it.
//
// A command counts as the place when it reads only finite values and gives
// others; one that gives minus infinity only (a mask) counts when there is no
// other. Without such a command the place is an input or a state that is not
// finite already, or the first command that reads what is not (a gradient that
// was made infinite). Empty: everything is finite.
//
// Runs the update on its batches with probes, so all ranks must call it and the
// state moves as in any update. `inject`: with this rank's gradient made
// infinite (DLC_INJECT_INF). `size`: of the batches.
Result<std::string> findOverflow(Session &session, Communicator &communicator,
                                 std::span<const Batch> window, int size,
                                 bool inject);

} // namespace dlc
