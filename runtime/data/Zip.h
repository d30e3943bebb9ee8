// SPDX-License-Identifier: Apache-2.0
// Reads and writes zip archives like numpy's: stored or deflated members,
// zip64, CRC-32. Files are untrusted.
#pragma once

#include "runtime/base/files/Files.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace dlc {

// Bytes with shared ownership.
struct SharedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

class ZipFile {
public:
  static Result<ZipFile> open(const std::string &path);

  std::vector<std::string> names() const;
  bool has(const std::string &name) const { return find(name) != nullptr; }

  // Content of a member, with its checksum verified; stored members are not
  // copied. With `first` that many bytes, or fewer if it is shorter: only these
  // are inflated, and the checksum is not verified.
  Result<SharedBytes> read(const std::string &name,
                           std::optional<uint64_t> first = {}) const;
  // The size in the directory.
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

// An archive of stored members, with zip64 where needed.
std::string makeZip(const std::vector<ZipMember> &members);

} // namespace dlc
