// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/WordPieces.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace dlc {
namespace {

// Whether a character of UTF-8 begins there.
bool begins(char c) { return (uint8_t(c) & 0xc0) != 0x80; }

} // namespace

Result<WordPieces>
WordPieces::create(std::unordered_map<std::string, uint32_t> ids,
                   std::string prefix, const std::string &unknown,
                   uint64_t mostCharacters) {
  WordPieces pieces;
  const auto found = ids.find(unknown);
  if (found == ids.end())
    return failed("its vocabulary lacks the unknown token '{}'",
                  printable(unknown, 60));
  pieces.unknown_ = found->second;
  for (const auto &[text, id] : ids)
    pieces.longest_ = std::max(pieces.longest_, text.size());
  pieces.ids_ = std::move(ids);
  pieces.prefix_ = std::move(prefix);
  pieces.mostCharacters_ = mostCharacters;
  return pieces;
}

void WordPieces::encode(std::string_view word,
                        std::vector<uint32_t> &tokens) const {
  const auto characters =
      uint64_t(std::count_if(word.begin(), word.end(), begins));
  const size_t kept = tokens.size();
  const auto giveUp = [&] {
    tokens.resize(kept);
    tokens.push_back(unknown_);
  };
  if (characters > mostCharacters_)
    return giveUp();
  thread_local std::string key;
  for (size_t at = 0; at < word.size();) {
    key.assign(at ? prefix_ : std::string());
    const size_t before = key.size();
    key += word.substr(at, longest_);
    auto found = ids_.end();
    while (key.size() > before && (found = ids_.find(key)) == ids_.end()) {
      while (key.size() > before && !begins(key.back()))
        key.pop_back();
      if (key.size() > before)
        key.pop_back();
    }
    if (found == ids_.end())
      return giveUp();
    tokens.push_back(found->second);
    at += key.size() - before;
  }
}

} // namespace dlc
