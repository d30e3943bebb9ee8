// What goes over the wire between the store and its clients, in the byte order
// of the machines (Gloo knows no other either).
#pragma once

#include <array>
#include <cstdint>

namespace dlc::store {

// First of all, followed by the token. The answer is kWelcome or kRefused.
struct Hello {
  std::array<char, 8> magic;
  uint32_t rank, tokenBytes;
};
constexpr std::array<char, 8> kMagic = {'d', 'l', 'c', 's', 't', 'o', 'r', '2'};
constexpr uint32_t kWelcome = 0x21636c64, kRefused = 0x3f636c64;

// A request, followed by key and value. The answer to Set is a u32 0; to Get,
// once the key is set, a u32 number of bytes and the value, or kLost and a u32
// rank. After Watch the store sends a u32 for each rank that is lost, and kEnd
// when it ends well; the client may say Farewell.
enum class Operation : uint32_t { Set = 1, Get = 2, Watch = 3, Farewell = 4 };
struct Request {
  Operation operation;
  uint32_t keyBytes, valueBytes;
};
constexpr uint32_t kLost = 0xffffffff, kEnd = 0xfffffffe;

} // namespace dlc::store
