// SPDX-License-Identifier: Apache-2.0
// Reads tar archives: POSIX (ustar, pax) and GNU long names.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dlc {

struct TarMember {
  std::string name;
  uint64_t header = 0; // offset of its first header
  uint64_t offset = 0; // of its content
  uint64_t size = 0;   // of its content
};

// Iterates over an archive, which is untrusted: header checksums and all sizes
// are verified. Folders are skipped. Errors: links, sparse files and truncated
// archives. Errors name the member, not the archive.
class TarReader {
public:
  // `at` is the offset of a member's first header.
  explicit TarReader(std::span<const std::byte> archive, uint64_t at = 0)
      : archive_(archive), at_(at) {}

  // Reads the next file; false at the end.
  Result<bool> next(TarMember &member);

private:
  struct Header;
  Result<Header> readHeader();
  Result<std::string> textAt(const Header &header) const;

  std::span<const std::byte> archive_;
  uint64_t at_;
};

} // namespace dlc
