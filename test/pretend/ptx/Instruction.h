// SPDX-License-Identifier: Apache-2.0
// Decoded instructions, and the registers of a thread that they work on.
#pragma once

#include "Memory.h"
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace dlc::ptx {

struct Instruction;
struct Kernel;
class Launch;

/// A register has 64 bits, of which those above its width are 0. Constants
/// follow the registers, so that every operand is the number of one.
struct Thread {
  uint64_t *registers;
  uint8_t *defined; // of each register; only of those that may be undefined
  uint8_t *local;
  Launch &launch;
  uint32_t number;       // in the block
  uint32_t barriers = 0; // that it has passed: of the block,
  uint32_t meetings = 0; // and of its warp (bar.warp.sync)
};

/// Executes an instruction. Returns the next one, or null: the thread ends.
using Handler = const Instruction *(*)(const Instruction *, Thread &);

struct Instruction {
  Handler run = nullptr;
  uint32_t operands[5] = {}; // registers: the destination, then sources
  uint32_t list = 0;         // of Kernel::lists: where its vectors begin
  int64_t number = 0; // an address's offset, a mode, or where it jumps to
};

/// What the decoder says of an instruction beside what it executes.
struct Effects {
  std::vector<uint32_t> reads, writes; // registers
  std::vector<uint32_t> targets;       // instructions that may be next,
  bool falls = true;                   // also the following one?
  uint32_t statement = 0;              // of the function
};

struct Kernel {
  std::string name;
  std::vector<Instruction> code;
  std::vector<Effects> effects;     // of each instruction
  std::vector<uint32_t> lists;      // registers of vectors
  std::vector<uint64_t> constants;  // behind the registers
  std::vector<std::string> lines;   // "12: add.s32 ...", of each statement
  std::vector<std::string> opcodes; // of each statement
  std::vector<std::string> names;   // of each register
  std::vector<Array> shared;
  struct Parameter {
    uint64_t offset, bytes;
  };
  std::vector<Parameter> parameters;
  uint64_t parameterBytes = 0, localBytes = 0;
  uint64_t mostThreads = 0;    // of a block; 0: any
  unsigned sharedGranule = 16; // bytes of the narrowest access to shared memory
  std::vector<uint32_t> blocks; // the first instruction of each
  /// Of an instruction with registers that may be undefined: what it does, and
  /// those that it reads and writes.
  struct Check {
    Handler run;
    std::vector<uint32_t> reads, writes;
  };
  std::map<size_t, Check> checks;
  uint32_t registerCount() const { return uint32_t(names.size()); }
};

struct F16 {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};

/// The value of a register as a T, and back.
template <class T> T fromRegister(uint64_t bits) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(bits);
  else if constexpr (sizeof(T) == 2)
    return T{static_cast<uint16_t>(bits)};
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(static_cast<uint32_t>(bits));
  else
    return std::bit_cast<T>(bits);
}
template <class T> uint64_t toRegister(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return value;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<std::make_unsigned_t<T>>(value);
  else if constexpr (sizeof(T) == 2)
    return value.bits;
  else if constexpr (sizeof(T) == 4)
    return std::bit_cast<uint32_t>(value);
  else
    return std::bit_cast<uint64_t>(value);
}

} // namespace dlc::ptx
