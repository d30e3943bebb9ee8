// SPDX-License-Identifier: Apache-2.0
// Locates where an update first becomes infinite or NaN.
#pragma once

#include "runtime/train/session/Session.h"

namespace dlc {

// Describes the first location, in program order over the micro-batches of an
// update and over ranks, as text: the ONNX nodes, the operation, its types, the
// numbers of infinities and NaNs in its results, the range of its operands, and
// a remedy.
//
// The location is a command that has finite operands and a result that is not
// finite; a command with only negative infinities (a mask) is used if there is
// no other. Otherwise it is an input or state that is not finite, or the first
// command with such an operand (a gradient that was made infinite). Empty if
// everything is finite.
//
// Runs the update on its batches with probes: collective, and the state changes
// as in any update. `inject`: with an infinite gradient on this rank
// (DLC_INJECT_INF). `size`: of the batches.
Result<std::string> findOverflow(Session &session, Communicator &communicator,
                                 std::span<const Batch> window, int size,
                                 bool inject);

} // namespace dlc
