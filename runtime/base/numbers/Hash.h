// SPDX-License-Identifier: Apache-2.0
// Checksums that find accidental damage, and digests that identify content.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace dlc {

// XXH3-128 as 32 hex digits.
std::string hashBytes(std::span<const std::byte> bytes);
std::string hashText(std::string_view text);

// SHA-256 as 64 hex digits. Throws std::bad_alloc if memory is exhausted, since
// no digest may be wrong.
std::string sha256(std::span<const std::byte> bytes);

// The same for content that is added in pieces.
class Sha256 {
public:
  Sha256();
  void add(const void *data, size_t size);
  std::string digest(); // may be called once

private:
  std::shared_ptr<void> context_;
};

// Size and digest of a file's content.
struct FileDigest {
  uint64_t size = 0; // bytes
  std::string sha256;
};

} // namespace dlc
