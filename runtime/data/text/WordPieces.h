// SPDX-License-Identifier: Apache-2.0
// WordPiece: words in the longest texts of a vocabulary, from the left
// (Schuster, Nakajima 2012; as BERT has it).
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dlc {

// Immutable; any thread may read.
class WordPieces {
public:
  // `prefix` stands in the vocabulary before what does not begin a word. An
  // error if `unknown` has no id.
  static Result<WordPieces>
  create(std::unordered_map<std::string, uint32_t> ids, std::string prefix,
         const std::string &unknown, uint64_t mostCharacters);

  // Appends the tokens of a word, not empty: one, the unknown's, if it has more
  // characters or a part of it is in no text.
  void encode(std::string_view word, std::vector<uint32_t> &tokens) const;

private:
  std::unordered_map<std::string, uint32_t> ids_;
  std::string prefix_;
  size_t longest_ = 0; // bytes of a text
  uint32_t unknown_ = 0;
  uint64_t mostCharacters_ = 100;
};

} // namespace dlc
