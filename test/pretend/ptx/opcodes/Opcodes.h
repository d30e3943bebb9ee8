// SPDX-License-Identifier: Apache-2.0
// Opcodes that compute registers from registers, by their full names. Their
// semantics: PTX ISA, "Instruction Set".
#pragma once

#include "test/pretend/ptx/Instruction.h"
#include <string>
#include <unordered_map>
#include <utility>

namespace dlc::ptx {

struct Opcode {
  Handler run;
  unsigned sources; // behind one destination
  int64_t number = 0;
};
using Opcodes = std::unordered_map<std::string, Opcode>;

/// All of them; made once.
const Opcodes &opcodes();

/// Of a conversion, cvt.MODIFIERS.TO.FROM; `run` is null: unknown.
Opcode conversionOf(const std::string &opcode);

void addIntegers(Opcodes &to);
void addFloats(Opcodes &to);
void addHalves(Opcodes &to);
void addComparisons(Opcodes &to);

template <class D, class... S, class F, size_t... I>
Opcode computing(F, std::index_sequence<I...>) {
  return {[](const Instruction *i, Thread &t) {
            uint64_t *r = t.registers;
            r[i->operands[0]] = toRegister<D>(
                static_cast<D>(F{}(fromRegister<S>(r[i->operands[I + 1]])...)));
            return i + 1;
          },
          sizeof...(S)};
}
/// An opcode whose destination is a D, and whose sources are S...; `f` has no
/// captures.
template <class D, class... S, class F> Opcode computing(F f) {
  return computing<D, S...>(f, std::index_sequence_for<S...>());
}

/// A function for computing().
template <auto kFunction>
inline constexpr auto call = [](auto... a) { return kFunction(a...); };

} // namespace dlc::ptx
