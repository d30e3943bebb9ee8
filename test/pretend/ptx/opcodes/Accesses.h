// SPDX-License-Identifier: Apache-2.0
// ld, st and atom. PTX ISA, "ld", "st", "atom".
#pragma once

#include "test/pretend/ptx/Instruction.h"

namespace dlc::ptx {

/// One element as it lies in memory.
struct Stored {
  unsigned bytes = 0; // 1, 2, 4, 8
  bool isSigned = false;
};
/// Of a type's name without the dot; `bytes` is 0: unknown.
Stored storedOf(const std::string &type);

/// A load of `count` elements from [operands[1] + number]: one to operands[0],
/// several to the registers of the list. operands[2] is the count. A signed
/// element fills a register of `registerBits`.
Handler loadOf(Space space, Stored stored, unsigned registerBits);
/// A store of `count` elements to [operands[0] + number]: of operands[1] or
/// the list.
Handler storeOf(Space space, Stored stored);

/// From a parameter at `number`, `operands[2]` bytes.
const Instruction *loadParameter(const Instruction *i, Thread &t);

/// From [operands[1] + number] of the parameters, `operands[2]` bytes.
const Instruction *loadAnyParameter(const Instruction *i, Thread &t);

/// operands[0] = what was at [operands[1] + number], where then is what it
/// makes of that and operands[2], operands[3]. `name` is "add.u32" ...; null:
/// unknown.
Handler atomicOf(const std::string &name, Space space);

} // namespace dlc::ptx
