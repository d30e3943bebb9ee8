// SPDX-License-Identifier: Apache-2.0
// Thrift's compact protocol, in which Parquet's headers are written
// (github.com/apache/thrift, doc/specs/thrift-compact-protocol.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace dlc {

enum class ThriftType : uint8_t {
  Stop = 0,
  True = 1,
  False = 2,
  Byte = 3,
  I16 = 4,
  I32 = 5,
  I64 = 6,
  Double = 7,
  Binary = 8,
  List = 9,
  Set = 10,
  Map = 11,
  Struct = 12
};

// Reads from the front of bytes that anybody may have written. After the first
// error ok() stays false, values are 0 and loops end. Views of the bytes.
class ThriftReader {
public:
  explicit ThriftReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  size_t taken() const { return at_; }

  // Calls field(id, type) for each of a struct's; it reads the value by its
  // type, or skips it.
  template <class F> void eachField(F &&field) {
    int16_t id = 0;
    for (enter(); ok_;) {
      const uint8_t head = byte();
      if ((head & 15) == 0)
        break;
      id = head >> 4 ? int16_t(id + (head >> 4)) : int16_t(zigzag());
      field(id, ThriftType(head & 15));
    }
    --depth_;
  }
  // Calls element(type) for each of a list's.
  template <class F> void eachElement(ThriftType type, F &&element) {
    expect(type == ThriftType::List || type == ThriftType::Set);
    const uint8_t head = ok_ ? byte() : 0;
    uint64_t count = head >> 4 == 15 ? varint() : head >> 4;
    expect(count <= bytes_.size() - at_); // each takes a byte at least
    for (enter(); ok_ && count > 0; --count)
      element(ThriftType(head & 15));
    --depth_;
  }

  bool boolean(ThriftType type);
  int64_t integer(ThriftType type);
  std::string_view binary(ThriftType type);
  void skip(ThriftType type);

private:
  void enter() { expect(++depth_ < 64); }
  void expect(bool holds) { ok_ = ok_ && holds; }
  uint8_t byte();
  uint64_t varint();
  int64_t zigzag();

  std::span<const std::byte> bytes_;
  size_t at_ = 0;
  int depth_ = 0;
  bool ok_ = true;
};

} // namespace dlc
