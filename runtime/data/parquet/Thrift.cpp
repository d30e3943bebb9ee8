// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/parquet/Thrift.h"

namespace dlc {

uint8_t ThriftReader::byte() {
  expect(at_ < bytes_.size());
  return ok_ ? uint8_t(bytes_[at_++]) : 0;
}

uint64_t ThriftReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t next = byte();
    value |= uint64_t(next & 127) << shift;
    if (next < 128)
      return value;
  }
  expect(false);
  return 0;
}

int64_t ThriftReader::zigzag() {
  const uint64_t value = varint();
  return int64_t(value >> 1) ^ -int64_t(value & 1);
}

bool ThriftReader::boolean(ThriftType type) {
  expect(type == ThriftType::True || type == ThriftType::False);
  return ok_ && type == ThriftType::True;
}

int64_t ThriftReader::integer(ThriftType type) {
  if (type == ThriftType::Byte)
    return int8_t(byte());
  expect(type == ThriftType::I16 || type == ThriftType::I32 ||
         type == ThriftType::I64);
  return ok_ ? zigzag() : 0;
}

std::string_view ThriftReader::binary(ThriftType type) {
  expect(type == ThriftType::Binary);
  const uint64_t size = ok_ ? varint() : 0;
  expect(size <= bytes_.size() - at_);
  if (!ok_)
    return {};
  const std::string_view text(
      reinterpret_cast<const char *>(bytes_.data()) + at_, size);
  at_ += size;
  return text;
}

void ThriftReader::skip(ThriftType type) {
  switch (type) {
  case ThriftType::True:
  case ThriftType::False:
    return;
  case ThriftType::Byte:
  case ThriftType::I16:
  case ThriftType::I32:
  case ThriftType::I64:
    integer(type);
    return;
  case ThriftType::Double:
    expect(bytes_.size() - at_ >= 8);
    at_ += ok_ ? 8 : 0;
    return;
  case ThriftType::Binary:
    binary(type);
    return;
  case ThriftType::List:
  case ThriftType::Set:
    eachElement(type, [this](ThriftType of) {
      // In lists a truth value takes a byte.
      skip(of == ThriftType::True || of == ThriftType::False ? ThriftType::Byte
                                                             : of);
    });
    return;
  case ThriftType::Struct:
    eachField([this](int16_t, ThriftType of) { skip(of); });
    return;
  default: // Parquet has no maps
    expect(false);
  }
}

} // namespace dlc
