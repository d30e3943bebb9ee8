// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/BytePairs.h"

#include "runtime/base/Text.h"
#include "runtime/data/text/unicode/Unicode.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace dlc {
namespace {

uint64_t pairKey(uint32_t left, uint32_t right) {
  return uint64_t(left) << 32 | right;
}

// A token of a piece, in a list of them.
struct PieceToken {
  uint32_t id;
  int before, after; // below 0: none
  bool isGone = false;
};

// A pair that could be merged; the first of the queue is the next one.
struct MergeChance {
  uint32_t rank;
  int left;
  uint32_t id;
  bool operator<(const MergeChance &other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

std::string byteToken(unsigned byte) { return fmt::format("<0x{:02X}>", byte); }

char32_t lastChar(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && (uint8_t(text[at]) & 0xc0) == 0x80)
    --at;
  return firstChar(text.substr(at)).character;
}

Status lacks(const std::string &text) {
  return failed("its vocabulary lacks '{}'", printable(text, 60));
}

} // namespace

Result<BytePairs> BytePairs::create(Ids ids, const Merges &merges,
                                    bool wholeFirst) {
  BytePairs pairs;
  pairs.ids_ = std::move(ids);
  pairs.wholeFirst_ = wholeFirst;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, char(byte));
    const auto found = pairs.ids_.find(text);
    if (found == pairs.ids_.end())
      return lacks(text);
    pairs.bytes_[size_t(byte)] = found->second;
  }
  DLC_TRY(pairs.readMerges(merges));
  return pairs;
}

Result<BytePairs> BytePairs::ofCharacters(Ids ids, const Merges &merges,
                                          bool wholeFirst,
                                          const Unknown &unknown) {
  BytePairs pairs;
  pairs.ids_ = std::move(ids);
  pairs.wholeFirst_ = wholeFirst;
  pairs.isOfCharacters_ = true;
  pairs.rules_ = unknown;
  if (unknown.token) {
    const auto found = pairs.ids_.find(*unknown.token);
    if (found == pairs.ids_.end())
      return lacks(*unknown.token);
    pairs.unknown_ = found->second;
  }
  for (unsigned byte = 0; unknown.byBytes && byte < 256; ++byte)
    if (const auto found = pairs.ids_.find(byteToken(byte));
        found != pairs.ids_.end())
      pairs.bytes_[byte] = found->second;
  pairs.hasAllBytes_ =
      std::all_of(pairs.bytes_.begin(), pairs.bytes_.end(),
                  [](const auto &id) { return id.has_value(); });
  DLC_TRY(pairs.readMerges(merges));
  pairs.readJoints(merges);
  return pairs;
}

Status BytePairs::readMerges(const Merges &merges) {
  const auto idOf = [&](const std::string &text) -> Result<uint32_t> {
    const auto found = ids_.find(text);
    if (found == ids_.end())
      return lacks(text);
    return found->second;
  };
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto &[left, right] = merges[rank];
    DLC_ASSIGN(const uint32_t first, idOf(left));
    DLC_ASSIGN(const uint32_t second, idOf(right));
    DLC_ASSIGN(const uint32_t merged, idOf(left + right));
    // Of two equal ones the last counts, as in Hugging Face's.
    merges_[pairKey(first, second)] = {uint32_t(rank), merged};
  }
  return {};
}

// What is not a text's characters joins by other rules: then nothing is parted.
void BytePairs::readJoints(const Merges &merges) {
  std::unordered_set<std::string> odd;
  for (unsigned byte = 0; byte < 256; ++byte)
    odd.insert(byteToken(byte));
  if (rules_.token)
    odd.insert(*rules_.token);
  mayPart_ = true;
  for (const auto &[left, right] : merges) {
    mayPart_ &= !odd.contains(left) && !odd.contains(right);
    joints_.insert(pairKey(lastChar(left), firstChar(right).character));
  }
}

// Whether it becomes tokens of its own, whatever is beside it: an unknown token
// waits for the next character that has an id.
bool BytePairs::isPlain(std::string_view character) const {
  return hasAllBytes_ || ids_.contains(std::string(character));
}

size_t BytePairs::firstUnjoined(std::string_view text) const {
  if (!mayPart_)
    return text.size();
  Utf8Char before = firstChar(text);
  for (size_t at = std::max<size_t>(before.bytes, 1); at < text.size();) {
    const Utf8Char c = firstChar(text.substr(at));
    const size_t size = std::max<size_t>(c.bytes, 1);
    if (before.bytes && c.bytes &&
        !joints_.contains(pairKey(before.character, c.character)) &&
        isPlain(text.substr(at - before.bytes, before.bytes)) &&
        isPlain(text.substr(at, size)))
      return at;
    before = c;
    at += size;
  }
  return text.size();
}

std::optional<uint32_t> BytePairs::wholeId(std::string_view piece) const {
  const auto found = wholeFirst_ ? ids_.find(std::string(piece)) : ids_.end();
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

// What merging begins with.
std::vector<uint32_t> BytePairs::symbolsOf(std::string_view piece) const {
  std::vector<uint32_t> symbols;
  if (!isOfCharacters_) {
    for (const char c : piece)
      symbols.push_back(*bytes_[uint8_t(c)]);
    return symbols;
  }
  const auto hasByte = [&](char c) { return bytes_[uint8_t(c)].has_value(); };
  // The unknown token comes before the next known character, behind bytes that
  // stand between them: as Hugging Face's does.
  bool waits = false;
  while (!piece.empty()) {
    const std::string text(
        piece.substr(0, std::max<size_t>(firstChar(piece).bytes, 1)));
    piece.remove_prefix(text.size());
    if (const auto found = ids_.find(text); found != ids_.end()) {
      if (std::exchange(waits, false))
        symbols.push_back(unknown_);
      symbols.push_back(found->second);
    } else if (rules_.byBytes &&
               std::all_of(text.begin(), text.end(), hasByte)) {
      for (const char c : text)
        symbols.push_back(*bytes_[uint8_t(c)]);
    } else if (rules_.token) {
      if (waits && !rules_.fused)
        symbols.push_back(unknown_);
      waits = true;
    }
  }
  if (waits)
    symbols.push_back(unknown_);
  return symbols;
}

const BytePairs::PairMerge *BytePairs::find(uint32_t left,
                                            uint32_t right) const {
  const auto found = merges_.find(pairKey(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void BytePairs::encode(std::string_view piece,
                       std::vector<uint32_t> &tokens) const {
  if (const auto whole = wholeId(piece)) {
    tokens.push_back(*whole);
    return;
  }
  const std::vector<uint32_t> symbols = symbolsOf(piece);
  const int count = int(symbols.size());
  if (count == 0)
    return;
  std::vector<PieceToken> list;
  for (int i = 0; i < count; ++i)
    list.push_back({symbols[size_t(i)], i - 1, i + 1 < count ? i + 1 : -1});
  std::priority_queue<MergeChance> chances;
  const auto consider = [&](int left) {
    if (left < 0 || list[size_t(left)].after < 0)
      return;
    const PieceToken &token = list[size_t(left)];
    if (const PairMerge *merge = find(token.id, list[size_t(token.after)].id))
      chances.push({merge->rank, left, merge->id});
  };
  for (int i = 0; i < count; ++i)
    consider(i);
  while (!chances.empty()) {
    const MergeChance chance = chances.top();
    chances.pop();
    PieceToken &left = list[size_t(chance.left)];
    if (left.isGone || left.after < 0)
      continue;
    // What was merged meanwhile is another pair; one that gives the same token
    // is merged at this rank, as Hugging Face's does.
    const PairMerge *merge = find(left.id, list[size_t(left.after)].id);
    if (!merge || merge->id != chance.id)
      continue;
    PieceToken &right = list[size_t(left.after)];
    right.isGone = true;
    left.id = chance.id;
    left.after = right.after;
    if (left.after >= 0)
      list[size_t(left.after)].before = chance.left;
    consider(left.before);
    consider(chance.left);
  }
  for (int at = 0; at >= 0; at = list[size_t(at)].after)
    tokens.push_back(list[size_t(at)].id);
}

} // namespace dlc
