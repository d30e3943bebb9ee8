// SPDX-License-Identifier: Apache-2.0
// What the decoder builds a kernel with: registers, constants, addresses of
// variables, and instructions with what they read and write.
#pragma once

#include "Instruction.h"
#include "text/Program.h"
#include "text/Refusal.h"
#include <map>

namespace dlc::ptx {

/// Names of one function, or of one call of it.
struct Names {
  const Function &function;
  struct Register {
    uint32_t number;
    unsigned bits;
  };
  std::map<std::string, Register> registers;
  std::map<std::string, size_t> labels; // statements
};

class Emitter {
public:
  explicit Emitter(const ProgramText &program);

  /// A parameter of the kernel, whose address instructions may take.
  void addParameter(const std::string &name, uint64_t offset);
  /// Registers of a function, each time others.
  Names declare(const Function &function);
  /// A register that no name has: for results that nobody wants.
  uint32_t unnamedRegister();
  uint32_t constant(uint64_t value);

  //===--- operands; they throw a Refusal ---------------------------------===//

  /// The register of a name, or the constant with a number or the address of a
  /// variable.
  uint32_t source(const Operand &operand);
  uint32_t destination(const Operand &operand);
  unsigned bitsOf(const Operand &operand) const; // of a register
  /// Of [base + offset].
  uint32_t base(const Operand &address);
  int64_t offset(const Operand &address) const;

  //===--- instructions ---------------------------------------------------===//

  /// Appends. `reads` and `writes` are what source() and destination() gave.
  Instruction &add(Instruction made, std::vector<uint32_t> reads,
                   std::vector<uint32_t> writes = {});
  /// Appends the start of a block, which counts how often it runs.
  void beginBlock();
  uint32_t addList(const std::vector<uint32_t> &registers);
  [[noreturn]] void refuse(const std::string &what) const;

  /// Numbers constants behind the registers; call it last.
  void finish();

  Kernel kernel;
  Names *names = nullptr;               // of what is being decoded
  const Statement *statement = nullptr; // and where
  uint32_t statementNumber = 0;         // in kernel.lines

private:
  std::map<std::string, uint64_t> addresses; // of variables
  std::map<uint64_t, uint32_t> constants;
};

} // namespace dlc::ptx
