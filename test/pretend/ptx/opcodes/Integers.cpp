// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic, logic and shifts. PTX ISA, "Integer Arithmetic
// Instructions", "Logic and Shift Instructions", "selp", "prmt".
#include "Opcodes.h"

#include <algorithm>
#include <bit>

namespace dlc::ptx {
namespace {

template <class T>
using Wide =
    std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
template <class T> constexpr unsigned kBits = sizeof(T) * 8;

/// Shifts by more than the width shift everything out.
template <class T> T shiftRight(T v, uint32_t by) {
  if (by < kBits<T>)
    return static_cast<T>(v >> by);
  return static_cast<T>(v < 0 ? -1 : 0);
}

template <class T> void addTyped(Opcodes &to, const std::string &type) {
  using U = std::make_unsigned_t<T>;
  const auto binary = [&](const std::string &name, auto f) {
    to[name + "." + type] = computing<T, T, T>(f);
  };
  binary("add", [](T a, T b) { return static_cast<T>(U(a) + U(b)); });
  binary("sub", [](T a, T b) { return static_cast<T>(U(a) - U(b)); });
  binary("mul.lo", [](T a, T b) {
    return static_cast<T>(static_cast<unsigned __int128>(a) *
                          static_cast<unsigned __int128>(b));
  });
  binary("mul.hi", [](T a, T b) {
    return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b) >>
                          kBits<T>);
  });
  to["mad.lo." + type] = computing<T, T, T, T>([](T a, T b, T c) {
    return static_cast<T>(static_cast<unsigned __int128>(a) *
                              static_cast<unsigned __int128>(b) +
                          static_cast<unsigned __int128>(c));
  });
  // By 0 all bits are set, where the ISA leaves it open.
  binary("div", [](T a, T b) {
    return b ? static_cast<T>(Wide<T>(a) / Wide<T>(b)) : static_cast<T>(-1);
  });
  binary("rem", [](T a, T b) {
    return b ? static_cast<T>(Wide<T>(a) % Wide<T>(b)) : static_cast<T>(-1);
  });
  binary("min", [](T a, T b) { return std::min(a, b); });
  binary("max", [](T a, T b) { return std::max(a, b); });
  to["shr." + type] = computing<T, T, uint32_t>(call<shiftRight<T>>);
  to["neg." + type] =
      computing<T, T>([](T a) { return static_cast<T>(-U(a)); });
  if constexpr (std::is_signed_v<T>)
    to["abs." + type] = computing<T, T>(
        [](T a) { return static_cast<T>(a < 0 ? -U(a) : U(a)); });
}

/// mul.wide and mad.wide: a result of twice the width.
template <class D, class T> void addWide(Opcodes &to, const std::string &type) {
  to["mul.wide." + type] =
      computing<D, T, T>([](T a, T b) { return D(a) * D(b); });
  to["mad.wide." + type] = computing<D, T, T, D>([](T a, T b, D c) {
    using U = std::make_unsigned_t<D>;
    return D(U(D(a) * D(b)) + U(c));
  });
}

template <class T> void addBits(Opcodes &to, const std::string &type) {
  to["and" + type] = computing<T, T, T>([](T a, T b) -> T { return a & b; });
  to["or" + type] = computing<T, T, T>([](T a, T b) -> T { return a | b; });
  to["xor" + type] = computing<T, T, T>([](T a, T b) -> T { return a ^ b; });
  if constexpr (std::is_same_v<T, bool>) {
    to["not" + type] = computing<T, T>([](T a) { return !a; });
  } else {
    to["not" + type] = computing<T, T>([](T a) -> T { return ~a; });
    to["shl" + type] = computing<T, T, uint32_t>([](T a, uint32_t by) {
      return by < kBits<T> ? static_cast<T>(a << by) : T(0);
    });
    to["shr" + type] = computing<T, T, uint32_t>(call<shiftRight<T>>);
    for (const char *name : {"b", "u", "s", "f"})
      to["selp." + (name + type.substr(2))] = computing<T, T, T, bool>(
          [](T a, T b, bool which) { return which ? a : b; });
  }
  if constexpr (sizeof(T) >= 4) {
    to["popc" + type] =
        computing<uint32_t, T>([](T a) { return std::popcount(a); });
    to["clz" + type] =
        computing<uint32_t, T>([](T a) { return std::countl_zero(a); });
    to["brev" + type] = computing<T, T>([](T a) {
      T reversed = 0;
      for (unsigned i = 0; i < kBits<T>; ++i)
        reversed |= (a >> i & 1) << (kBits<T> - 1 - i);
      return reversed;
    });
  }
}

/// `length` bits of `a` from `position` on; signed ones repeat the last.
template <class T> T extract(T a, uint32_t position, uint32_t length) {
  using U = std::make_unsigned_t<T>;
  position &= 0xff;
  length &= 0xff;
  const unsigned last =
      std::min(position + length, kBits<T>) - (position + length > 0);
  U sign = std::is_signed_v<T> && length ? U(a) >> last & 1 : 0;
  U result = 0;
  for (unsigned i = 0; i < kBits<T>; ++i)
    result |=
        (i < length && position + i < kBits<T> ? U(a) >> (position + i) & 1
                                               : sign)
        << i;
  return T(result);
}
template <class T> T insert(T a, T b, uint32_t position, uint32_t length) {
  position &= 0xff;
  length &= 0xff;
  for (unsigned i = 0; i < length && position + i < kBits<T>; ++i) {
    const T bit = T(1) << (position + i);
    b = (b & ~bit) | ((a >> i & 1) << (position + i));
  }
  return b;
}

/// Four of the eight bytes of b:a, each by a digit of `select`; digit & 8
/// repeats the byte's sign.
uint32_t permute(uint32_t a, uint32_t b, uint32_t select) {
  const uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t digit = select >> 4 * i & 15;
    uint8_t byte = uint8_t(bytes >> 8 * (digit & 7));
    if (digit & 8)
      byte = byte & 0x80 ? 0xff : 0;
    result |= uint32_t(byte) << 8 * i;
  }
  return result;
}

template <bool kLeft, bool kWraps>
uint32_t funnel(uint32_t low, uint32_t high, uint32_t by) {
  by = kWraps ? by & 31 : std::min(by, 32u);
  const uint64_t both = uint64_t(high) << 32 | low;
  return uint32_t(kLeft ? both << by >> 32 : both >> by);
}

uint32_t anyLogic(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (int i = 0; i < 32; ++i) {
    const uint32_t row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
    result |= (table >> row & 1) << i;
  }
  return result;
}

} // namespace

void addIntegers(Opcodes &to) {
  addTyped<int16_t>(to, "s16");
  addTyped<uint16_t>(to, "u16");
  addTyped<int32_t>(to, "s32");
  addTyped<uint32_t>(to, "u32");
  addTyped<int64_t>(to, "s64");
  addTyped<uint64_t>(to, "u64");
  addWide<int32_t, int16_t>(to, "s16");
  addWide<uint32_t, uint16_t>(to, "u16");
  addWide<int64_t, int32_t>(to, "s32");
  addWide<uint64_t, uint32_t>(to, "u32");
  addBits<bool>(to, ".pred");
  addBits<uint16_t>(to, ".b16");
  addBits<uint32_t>(to, ".b32");
  addBits<uint64_t>(to, ".b64");
  to["bfe.s32"] =
      computing<int32_t, int32_t, uint32_t, uint32_t>(call<extract<int32_t>>);
  to["bfe.u32"] = computing<uint32_t, uint32_t, uint32_t, uint32_t>(
      call<extract<uint32_t>>);
  to["bfe.s64"] =
      computing<int64_t, int64_t, uint32_t, uint32_t>(call<extract<int64_t>>);
  to["bfe.u64"] = computing<uint64_t, uint64_t, uint32_t, uint32_t>(
      call<extract<uint64_t>>);
  to["bfi.b32"] = computing<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>(
      call<insert<uint32_t>>);
  to["bfi.b64"] = computing<uint64_t, uint64_t, uint64_t, uint32_t, uint32_t>(
      call<insert<uint64_t>>);
  to["prmt.b32"] =
      computing<uint32_t, uint32_t, uint32_t, uint32_t>(call<permute>);
  to["shf.l.wrap.b32"] = computing<uint32_t, uint32_t, uint32_t, uint32_t>(
      call<funnel<true, true>>);
  to["shf.l.clamp.b32"] = computing<uint32_t, uint32_t, uint32_t, uint32_t>(
      call<funnel<true, false>>);
  to["shf.r.wrap.b32"] = computing<uint32_t, uint32_t, uint32_t, uint32_t>(
      call<funnel<false, true>>);
  to["shf.r.clamp.b32"] = computing<uint32_t, uint32_t, uint32_t, uint32_t>(
      call<funnel<false, false>>);
  to["lop3.b32"] = computing<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>(
      call<anyLogic>);
}

} // namespace dlc::ptx
