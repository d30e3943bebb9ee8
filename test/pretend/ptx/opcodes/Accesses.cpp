// SPDX-License-Identifier: Apache-2.0
#include "Accesses.h"
#include "test/pretend/ptx/Launch.h"

#include <algorithm>
#include <cstring>

namespace dlc::ptx {
namespace {

template <class T> T get(const uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T> void set(uint8_t *to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// As R the element fills the register.
template <Space kSpace, class T, class R>
const Instruction *load(const Instruction *i, Thread &t) {
  const uint32_t count = i->operands[2];
  const uint8_t *from =
      t.launch.at(i, t, kSpace, t.registers[i->operands[1]] + i->number,
                  sizeof(T) * count, Access::Read);
  if (!from)
    return nullptr;
  const uint32_t *to =
      count > 1 ? &t.launch.kernel.lists[i->list] : &i->operands[0];
  for (uint32_t k = 0; k < count; ++k)
    t.registers[to[k]] =
        toRegister(static_cast<R>(get<T>(from + k * sizeof(T))));
  return i + 1;
}

template <Space kSpace, class T>
const Instruction *store(const Instruction *i, Thread &t) {
  const uint32_t count = i->operands[2];
  uint8_t *to =
      t.launch.at(i, t, kSpace, t.registers[i->operands[0]] + i->number,
                  sizeof(T) * count, Access::Write);
  if (!to)
    return nullptr;
  const uint32_t *from =
      count > 1 ? &t.launch.kernel.lists[i->list] : &i->operands[1];
  for (uint32_t k = 0; k < count; ++k)
    set(to + k * sizeof(T), fromRegister<T>(t.registers[from[k]]));
  return i + 1;
}

/// Threads run one at a time, so that it is nothing special.
template <Space kSpace, class T, auto kFunction>
const Instruction *change(const Instruction *i, Thread &t) {
  uint64_t *r = t.registers;
  uint8_t *at = t.launch.at(i, t, kSpace, r[i->operands[1]] + i->number,
                            sizeof(T), Access::Atomic);
  if (!at)
    return nullptr;
  const T old = get<T>(at);
  set(at, static_cast<T>(kFunction(old, fromRegister<T>(r[i->operands[2]]),
                                   fromRegister<T>(r[i->operands[3]]))));
  r[i->operands[0]] = toRegister(old);
  return i + 1;
}

template <Space kSpace> Handler loadFrom(Stored stored, unsigned bits) {
  if (!stored.isSigned || stored.bytes * 8 >= bits)
    return stored.bytes == 1   ? load<kSpace, uint8_t, uint8_t>
           : stored.bytes == 2 ? load<kSpace, uint16_t, uint16_t>
           : stored.bytes == 4 ? load<kSpace, uint32_t, uint32_t>
                               : load<kSpace, uint64_t, uint64_t>;
  if (stored.bytes == 1)
    return bits == 16   ? load<kSpace, int8_t, int16_t>
           : bits == 32 ? load<kSpace, int8_t, int32_t>
                        : load<kSpace, int8_t, int64_t>;
  if (stored.bytes == 2)
    return bits == 32 ? load<kSpace, int16_t, int32_t>
                      : load<kSpace, int16_t, int64_t>;
  return load<kSpace, int32_t, int64_t>;
}

template <Space kSpace> Handler storeTo(Stored stored) {
  return stored.bytes == 1   ? store<kSpace, uint8_t>
         : stored.bytes == 2 ? store<kSpace, uint16_t>
         : stored.bytes == 4 ? store<kSpace, uint32_t>
                             : store<kSpace, uint64_t>;
}

template <class T> T added(T old, T a, T) { return T(old + a); }
template <class T> T exchanged(T, T a, T) { return a; }
template <class T> T swapped(T old, T a, T b) { return old == a ? b : old; }
template <class T> T least(T old, T a, T) { return std::min(old, a); }
template <class T> T largest(T old, T a, T) { return std::max(old, a); }
template <class T> T common(T old, T a, T) { return old & a; }
template <class T> T either(T old, T a, T) { return old | a; }
uint32_t incremented(uint32_t old, uint32_t a, uint32_t) {
  return old >= a ? 0 : old + 1;
}

template <Space kSpace> Handler atomicIn(const std::string &name) {
  const std::pair<const char *, Handler> all[] = {
      {"add.u32", change<kSpace, uint32_t, added<uint32_t>>},
      {"add.s32", change<kSpace, uint32_t, added<uint32_t>>},
      {"add.u64", change<kSpace, uint64_t, added<uint64_t>>},
      {"inc.u32", change<kSpace, uint32_t, incremented>},
      {"exch.b32", change<kSpace, uint32_t, exchanged<uint32_t>>},
      {"exch.b64", change<kSpace, uint64_t, exchanged<uint64_t>>},
      {"cas.b32", change<kSpace, uint32_t, swapped<uint32_t>>},
      {"cas.b64", change<kSpace, uint64_t, swapped<uint64_t>>},
      {"min.s32", change<kSpace, int32_t, least<int32_t>>},
      {"min.u32", change<kSpace, uint32_t, least<uint32_t>>},
      {"max.s32", change<kSpace, int32_t, largest<int32_t>>},
      {"max.u32", change<kSpace, uint32_t, largest<uint32_t>>},
      {"and.b32", change<kSpace, uint32_t, common<uint32_t>>},
      {"or.b32", change<kSpace, uint32_t, either<uint32_t>>}};
  for (const auto &[known, run] : all)
    if (name == known)
      return run;
  return nullptr;
}

} // namespace

Stored storedOf(const std::string &type) {
  for (unsigned bytes : {1, 2, 4, 8})
    if (type.size() > 1 && type.substr(1) == std::to_string(bytes * 8) &&
        std::string("busf").find(type[0]) != std::string::npos)
      return {bytes, type[0] == 's'};
  return {};
}

Handler loadOf(Space space, Stored stored, unsigned bits) {
  return space == Space::Global   ? loadFrom<Space::Global>(stored, bits)
         : space == Space::Shared ? loadFrom<Space::Shared>(stored, bits)
         : space == Space::Local  ? loadFrom<Space::Local>(stored, bits)
                                  : loadFrom<Space::Generic>(stored, bits);
}
Handler storeOf(Space space, Stored stored) {
  return space == Space::Global   ? storeTo<Space::Global>(stored)
         : space == Space::Shared ? storeTo<Space::Shared>(stored)
         : space == Space::Local  ? storeTo<Space::Local>(stored)
                                  : storeTo<Space::Generic>(stored);
}
Handler atomicOf(const std::string &name, Space space) {
  return space == Space::Global   ? atomicIn<Space::Global>(name)
         : space == Space::Shared ? atomicIn<Space::Shared>(name)
         : space == Space::Local  ? nullptr
                                  : atomicIn<Space::Generic>(name);
}

const Instruction *loadParameter(const Instruction *i, Thread &t) {
  uint64_t value = 0;
  std::memcpy(&value, t.launch.parameters.data() + i->number, i->operands[2]);
  t.registers[i->operands[0]] = value;
  return i + 1;
}

const Instruction *loadAnyParameter(const Instruction *i, Thread &t) {
  const uint64_t at =
      t.registers[i->operands[1]] + uint64_t(i->number) - kParameterAddress;
  for (const auto &[offset, bytes] : t.launch.kernel.parameters)
    if (at >= offset && at + i->operands[2] <= offset + bytes) {
      Instruction found = *i;
      found.number = int64_t(at);
      loadParameter(&found, t);
      return i + 1;
    }
  return t.launch.fail(i, t, "reads what is no parameter");
}

} // namespace dlc::ptx
