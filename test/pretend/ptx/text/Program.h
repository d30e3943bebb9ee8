// SPDX-License-Identifier: Apache-2.0
// A PTX module as it is written: what the parser makes and the decoder reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dlc::ptx {

struct Operand {
  enum Kind {
    Register, // name: "%r1"; also special ones: "%tid.x"
    Number,   // value
    Symbol,   // name: of an array, a parameter or a label
    Address,  // [parts[0] + value]; parts[0] is no Address
    Vector,   // {parts...}, also (parts...) of a call
    Pair,     // parts[0]|parts[1]
    Nothing,  // _
  };
  Kind kind = Nothing;
  std::string name;
  uint64_t value = 0;   // of integers in two's complement, of floats their bits
  bool negated = false; // !%p1
  std::vector<Operand> parts;
};

struct Statement {
  std::string opcode; // with all modifiers
  std::vector<Operand> operands;
  Operand guard; // a Register, or Nothing
  int line = 0;
};

/// A .shared, .local, .global or .const array, or a parameter.
struct Variable {
  std::string name, space; // ".shared"
  uint64_t bytes = 0, alignment = 1;
  std::vector<uint8_t> values; // initial ones; empty: none
  int line = 0;
};

/// Registers %r0 to %r(count - 1) of a prefix, or the one of that name (count
/// 0), also a .param of a call.
struct RegisterFamily {
  std::string prefix;
  unsigned bits; // 1: predicates
  unsigned count;
};

struct Label {
  std::string name;
  size_t statement; // it stands before
};

/// Targets of brx.idx.
struct BranchTable {
  std::string name;
  std::vector<std::string> labels;
};

struct Function {
  std::string name;
  int line = 0;
  uint64_t mostThreads = 0; // of a block, by .maxntid or .reqntid; 0: any
  std::vector<Variable> parameters, results, variables;
  std::vector<RegisterFamily> registers;
  std::vector<Statement> statements;
  std::vector<Label> labels;
  std::vector<BranchTable> tables;
};

struct ProgramText {
  std::string version, target; // "8.0", "sm_90"
  std::vector<Variable> variables;
  std::vector<Function> entries, functions;
};

} // namespace dlc::ptx
