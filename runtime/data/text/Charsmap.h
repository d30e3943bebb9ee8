// SPDX-License-Identifier: Apache-2.0
// What a text's characters are replaced by: SentencePiece's
// precompiled_charsmap, as the package tokenizers applies it.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

// Immutable; any thread may read.
//
// The format: the bytes of a double array (Yata et al. 2007, as the library
// darts-clone has it) in a u32, the array, u32 each, little-endian, and texts
// that end in a zero byte, of which the array's values are the first bytes'
// numbers.
class Charsmap {
public:
  // Errors: what is not that. A reference out of it is no match.
  static Result<Charsmap> create(std::string_view bytes);

  // UTF-8 text: each grapheme of less than six bytes that begins with a text in
  // the map is, whole, what the shortest of these becomes; of others each
  // character is.
  std::string apply(std::string_view text) const;

private:
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<uint32_t> units_;
  std::string texts_;
};

// Of base64 with padding. None: it is not.
std::optional<std::string> bytesOfBase64(std::string_view text);

} // namespace dlc
