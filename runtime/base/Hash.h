// Checksums that find accidental damage, and digests that identify content.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace dlc {

// XXH3-128 as 32 hex digits.
std::string hashBytes(std::span<const std::byte> bytes);
std::string hashText(std::string_view text);
Result<std::string> hashFile(const std::string &path);

// SHA-256 as 64 hex digits.
std::string sha256(std::span<const std::byte> bytes);

} // namespace dlc
