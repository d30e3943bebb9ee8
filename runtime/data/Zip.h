// SPDX-License-Identifier: Apache-2.0
// Reading and writing zip archives as numpy makes them: stored or deflated
// members, zip64, CRC-32. Nothing in a file is trusted.
#pragma once

#include "runtime/base/files/Files.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace dlc {

// Bytes that live as long as a copy of them does.
struct SharedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

class ZipFile {
public:
  static Result<ZipFile> open(const std::string &path);

  std::vector<std::string> names() const;
  bool has(const std::string &name) const { return find(name) != nullptr; }

  // A member's content, its checksum checked; stored members are not copied.
  Result<SharedBytes> read(const std::string &name) const;
  // Its first `size` bytes, or all if there are fewer; nothing more is
  // inflated, and no checksum is checked.
  Result<SharedBytes> readStart(const std::string &name, uint64_t size) const;
  // The size that the directory gives it.
  uint64_t sizeOf(const std::string &name) const;

private:
  struct Entry {
    std::string name;
    uint16_t method = 0, flags = 0;
    uint32_t crc = 0;
    uint64_t compressed = 0, size = 0, offset = 0;
  };

  const Entry *find(const std::string &name) const;
  Status readDirectory();
  Status checkInflated() const;
  Status index();
  Result<SharedBytes> extract(const Entry &entry, uint64_t size) const;
  Result<std::span<const std::byte>> content(const Entry &entry) const;

  std::shared_ptr<const MappedFile> file_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> index_;
};

struct ZipMember {
  std::string name;
  std::string content;
};

// Stored members, zip64 where needed.
std::string makeZip(const std::vector<ZipMember> &members);

} // namespace dlc
