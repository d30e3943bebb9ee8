// SPDX-License-Identifier: Apache-2.0
#include "Emitter.h"
#include "Launch.h"

#include <algorithm>

namespace dlc::ptx {
namespace {

/// Marks the number of a constant until all registers are known.
constexpr uint32_t kIsConstant = 1u << 31;

const Instruction *enterBlock(const Instruction *i, Thread &t) {
  ++t.launch.visits[uint64_t(i->number)];
  return i + 1;
}

} // namespace

Emitter::Emitter(const ProgramText &program) {
  for (size_t i = 0; i < program.variables.size(); ++i) {
    const Variable &v = program.variables[i];
    if (v.space == ".shared") {
      addresses[v.name] = sharedAddress(kernel.shared.size());
      kernel.shared.push_back({v.name, nullptr, v.bytes});
    } else {
      addresses[v.name] = globalAddress(i);
    }
  }
}

void Emitter::addParameter(const std::string &name, uint64_t offset) {
  addresses[name] = kParameterAddress + offset;
}

Names Emitter::declare(const Function &function) {
  Names made{function, {}, {}};
  const auto add = [&](const std::string &name, unsigned bits) {
    if (made.registers.try_emplace(name, kernel.registerCount(), bits).second)
      kernel.names.push_back(name);
  };
  for (const RegisterFamily &f : function.registers) {
    if (!f.count)
      add(f.prefix, f.bits);
    for (unsigned i = 0; i < f.count; ++i)
      add(f.prefix + std::to_string(i), f.bits);
  }
  for (const Label &l : function.labels)
    made.labels[l.name] = l.statement;
  for (const Variable &v : function.variables)
    if (v.space == ".shared") {
      addresses[v.name] = sharedAddress(kernel.shared.size());
      kernel.shared.push_back({v.name, nullptr, v.bytes});
    } else if (v.space == ".local" && !kernel.localBytes) {
      addresses[v.name] = kLocalAddress;
      kernel.localBytes = v.bytes;
    } else {
      throw Refusal(v.line, "a second " + v.space + " array of a function");
    }
  return made;
}

uint32_t Emitter::unnamedRegister() {
  kernel.names.push_back("_");
  return kernel.registerCount() - 1;
}

uint32_t Emitter::constant(uint64_t value) {
  const auto [found, isNew] =
      constants.try_emplace(value, uint32_t(kernel.constants.size()));
  if (isNew)
    kernel.constants.push_back(value);
  return found->second | kIsConstant;
}

void Emitter::refuse(const std::string &what) const {
  throw Refusal(statement->line, "'" + statement->opcode + "': " + what);
}

uint32_t Emitter::source(const Operand &o) {
  if (o.kind == Operand::Number)
    return constant(o.value);
  if (o.kind != Operand::Register && o.kind != Operand::Symbol)
    refuse("an operand of this form is unknown");
  if (o.negated)
    refuse("a negated operand is unknown");
  if (auto found = names->registers.find(o.name);
      found != names->registers.end())
    return found->second.number;
  if (auto found = addresses.find(o.name); found != addresses.end())
    return constant(found->second);
  refuse("unknown name '" + o.name + "'");
}

uint32_t Emitter::destination(const Operand &o) {
  if (o.kind == Operand::Nothing)
    return unnamedRegister();
  const uint32_t found = source(o);
  if (found & kIsConstant)
    refuse("its result is no register");
  return found;
}

unsigned Emitter::bitsOf(const Operand &o) const {
  const auto found = names->registers.find(o.name);
  if (found == names->registers.end())
    refuse("'" + o.name + "' is no register");
  return found->second.bits;
}

uint32_t Emitter::base(const Operand &address) {
  if (address.kind != Operand::Address)
    refuse("expected an address");
  return source(address.parts[0]);
}
int64_t Emitter::offset(const Operand &address) const {
  return int64_t(address.value);
}

Instruction &Emitter::add(Instruction made, std::vector<uint32_t> reads,
                          std::vector<uint32_t> writes) {
  const auto isConstant = [](uint32_t r) { return r & kIsConstant; };
  std::erase_if(reads, isConstant);
  kernel.effects.push_back(
      {std::move(reads), std::move(writes), {}, true, statementNumber});
  return kernel.code.emplace_back(made);
}

void Emitter::beginBlock() {
  Instruction made{enterBlock};
  made.number = int64_t(kernel.blocks.size());
  kernel.blocks.push_back(uint32_t(kernel.code.size()));
  add(made, {});
}

uint32_t Emitter::addList(const std::vector<uint32_t> &registers) {
  const auto at = uint32_t(kernel.lists.size());
  kernel.lists.insert(kernel.lists.end(), registers.begin(), registers.end());
  return at;
}

void Emitter::finish() {
  const auto renumber = [&](uint32_t &r) {
    if (r & kIsConstant)
      r = (r & ~kIsConstant) + kernel.registerCount();
  };
  for (Instruction &i : kernel.code)
    std::ranges::for_each(i.operands, renumber);
  std::ranges::for_each(kernel.lists, renumber);
}

} // namespace dlc::ptx
