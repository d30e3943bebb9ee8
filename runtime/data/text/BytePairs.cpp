#include "runtime/data/text/BytePairs.h"

#include "runtime/base/Text.h"

#include <queue>

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

} // namespace

Result<BytePairs> BytePairs::create(
    std::unordered_map<std::string, uint32_t> ids,
    const std::vector<std::pair<std::string, std::string>> &merges,
    bool wholeFirst) {
  BytePairs pairs;
  pairs.ids_ = std::move(ids);
  pairs.wholeFirst_ = wholeFirst;
  const auto idOf = [&](const std::string &text) -> Result<uint32_t> {
    const auto found = pairs.ids_.find(text);
    if (found == pairs.ids_.end())
      return failed("its vocabulary lacks '{}'", printable(text, 60));
    return found->second;
  };
  for (int byte = 0; byte < 256; ++byte) {
    DLC_ASSIGN(pairs.bytes_[size_t(byte)], idOf(std::string(1, char(byte))));
  }
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto &[left, right] = merges[rank];
    DLC_ASSIGN(const uint32_t first, idOf(left));
    DLC_ASSIGN(const uint32_t second, idOf(right));
    DLC_ASSIGN(const uint32_t merged, idOf(left + right));
    // Of two equal ones the last counts, as in Hugging Face's.
    pairs.merges_[pairKey(first, second)] = {uint32_t(rank), merged};
  }
  return pairs;
}

const BytePairs::PairMerge *BytePairs::find(uint32_t left,
                                            uint32_t right) const {
  const auto found = merges_.find(pairKey(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void BytePairs::encode(std::string_view piece,
                       std::vector<uint32_t> &tokens) const {
  if (wholeFirst_)
    if (const auto whole = ids_.find(std::string(piece)); whole != ids_.end()) {
      tokens.push_back(whole->second);
      return;
    }
  const int count = int(piece.size());
  std::vector<PieceToken> list;
  for (int i = 0; i < count; ++i)
    list.push_back(
        {bytes_[uint8_t(piece[size_t(i)])], i - 1, i + 1 < count ? i + 1 : -1});
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
    // What was merged meanwhile is another pair.
    const PairMerge *merge = find(left.id, list[size_t(left.after)].id);
    if (!merge || merge->id != chance.id || merge->rank != chance.rank)
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
