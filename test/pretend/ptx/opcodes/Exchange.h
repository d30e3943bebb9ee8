// SPDX-License-Identifier: Apache-2.0
// What threads do together, through test/pretend/emulator: barriers, shuffles,
// votes, cp.async, ldmatrix and mma. PTX ISA, "Parallel Synchronization and
// Communication Instructions", "Warp-Level Matrix Instructions", "cp.async".
#pragma once

#include "test/pretend/ptx/Instruction.h"
#include <string>

namespace dlc::ptx {

/// bar.sync of all threads of the block.
const Instruction *waitForBlock(const Instruction *i, Thread &t);
/// bar.warp.sync; operands[1]: members.
const Instruction *waitForWarp(const Instruction *i, Thread &t);

/// operands: d, a, b, c, members. `mode` is "bfly" ...; null: unknown.
Handler shuffleOf(const std::string &mode);
/// operands: d, the predicate, members; number: 1 if it is negated. `kind` is
/// "all.pred" ...; null: unknown.
Handler voteOf(const std::string &kind);

/// A copy from [operands[1] + list] of global memory to [operands[0] + number]
/// of shared; operands[2] bytes, of which as many as operands[3] says are read
/// if operands[4] is 1.
const Instruction *copyAsync(const Instruction *i, Thread &t);
const Instruction *commitGroup(const Instruction *i, Thread &t);
/// number: groups that may still be under way.
const Instruction *waitForGroups(const Instruction *i, Thread &t);
const Instruction *waitForAll(const Instruction *i, Thread &t);

/// The list: four registers; [operands[0] + number]: the thread's line.
template <bool kTransposed>
const Instruction *loadMatrix(const Instruction *i, Thread &t);
/// The list: d (4 registers), a (4), b (2), c (4).
template <bool kBf16>
const Instruction *multiplyMatrices(const Instruction *i, Thread &t);

/// "%tid.x" ... to operands[0]; null: unknown.
Handler specialOf(const std::string &name);

} // namespace dlc::ptx
