// SPDX-License-Identifier: Apache-2.0
// Members of a tar archive: POSIX (ustar, pax) and GNU's long names.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace dlc {

struct TarMember {
  std::string name;
  uint64_t header = 0; // where its first header begins
  uint64_t offset = 0; // of its content
  uint64_t size = 0;   // bytes of it
};

// Goes through an archive, which is not trusted: headers' sums and all sizes
// are checked. Folders are passed over; links and sparse files are errors, as
// is an archive that ends within a member. Errors name the member, not the
// archive.
class TarReader {
public:
  // `at` is where a member's first header begins.
  explicit TarReader(std::span<const std::byte> archive, uint64_t at = 0)
      : archive_(archive), at_(at) {}

  // The next file; false at the end.
  Result<bool> next(TarMember &member);

private:
  struct Header;
  Result<Header> readHeader();
  Result<std::string> textAt(const Header &header) const;

  std::span<const std::byte> archive_;
  uint64_t at_;
};

} // namespace dlc
