// SPDX-License-Identifier: Apache-2.0
// The wire format between a store and its clients: PyTorch's TCPStore protocol,
// and additional messages of dlc's ranks, in the machines' byte order (as in
// Gloo and PyTorch).
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::store {

// A query is this byte and a payload. A string is a u64 number of bytes and the
// bytes; a list of strings is a u64 count and the strings.
enum class Query : uint8_t {
  Validate = 0,    // u32 kMagic, the first message; no answer
  Set = 1,         // key, value; no answer
  CompareSet = 2,  // key, expected, desired -> the value afterwards
  Get = 3,         // key, which must be set -> value
  Add = 4,         // key, i64 -> i64 sum; stored as decimal digits
  Check = 5,       // keys -> u8 kReady or kNotReady
  Wait = 6,        // keys -> u8 kStopWaiting, once all of them are set
  Count = 7,       // -> i64 keys
  Erase = 8,       // key -> i64 number of erased keys: 0 or 1
  Append = 9,      // key, value; no answer
  MultiGet = 10,   // keys, which must be set -> their values
  MultiSet = 11,   // u64 count, then keys and values; no answer
  CancelWait = 12, // -> u8 kWaitCancelled
  Ping = 13,       // u32 -> the same

  // Only for dlc's ranks:
  Hello = 0xd0, // u32 rank, token -> u32 kWelcome or kRefused
  // -> u32 for each lost rank, | kSilent if its connection is open; kParted and
  // two u32, ranks that cannot reach each other; kBeat for each heartbeat;
  // kAsk; kEnd.
  Watch = 0xd1,
  Farewell = 0xd2, // no answer; a rank that closes without it is lost
  Beat = 0xd3,     // i64 progressOf(), on the connection that watches
  Ask = 0xd4,      // no answer; all watching ranks are asked for a beat
  Places = 0xd5,   // -> text, Heartbeats::placesText
  Accuse = 0xd6,   // u32 rank, for which others wait; no answer: it is lost
  Miss = 0xd7,     // u32 rank, for which this one waits in vain; no answer
  // key, value, pieces -> u8 kStopWaiting and a text, Swaps::answerTo, once all
  // ranks have sent theirs (Swaps.h).
  Swap = 0xd8,
};

constexpr uint32_t kMagic = 0x3c85f7ce;
constexpr uint8_t kReady = 0, kNotReady = 1;
constexpr uint8_t kStopWaiting = 0, kWaitCancelled = 1;
// Answer to a waiting rank, followed by a u32: that rank is lost.
constexpr uint8_t kLost = 2;
constexpr uint32_t kWelcome = 0x21636c64, kRefused = 0x3f636c64;
constexpr uint32_t kEnd = 0xfffffffe, kBeat = 0xfffffffd, kAsk = 0xfffffffc;
constexpr uint32_t kParted = 0xfffffffb;
constexpr uint32_t kSilent = 0x40000000;

struct Limits {
  static constexpr uint64_t kKey = 8 << 10, kValue = 1 << 20; // bytes
  static constexpr uint64_t kKeys = 4096;                     // of a query
  static constexpr uint64_t kMessage = 4 << 20; // bytes of a query or an answer
  static constexpr uint64_t kToken = 128;       // bytes
};

// A parsed query.
struct Message {
  Query query = Query::Validate;
  std::vector<std::string> keys, values;
  int64_t number = 0; // magic, rank, addend, ping
};

std::string textOf(const Message &message);

enum class Parsed { Whole, Partial, Hostile };
// Parses the message at the start of `bytes`, and sets its length. Partial:
// more bytes are needed. Hostile: no continuation could be a known message
// within Limits.
Parsed parse(std::string_view bytes, Message &message, size_t &length);

} // namespace dlc::store
