// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding (Sennrich, Haddow, Birch 2016), of bytes or characters.
#pragma once

#include "runtime/base/Status.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace dlc {

// Ids of texts, and pairs of them that become one. Immutable; any thread may
// read.
class BytePairs {
public:
  using Ids = std::unordered_map<std::string, uint32_t>;
  using Merges = std::vector<std::pair<std::string, std::string>>;

  // What a character without an id is: `byBytes`, <0x00> to <0xFF> for each of
  // its bytes, if all that are needed have ids; else `unknown`, `fused` with
  // those beside it; without it nothing.
  struct Unknown {
    std::optional<std::string> token;
    bool fused = false, byBytes = false;
  };

  // `ids`: of texts, in bytes, among them each single byte. `merges`: pairs of
  // texts, the first one first. Errors: a byte without an id, or a merge's
  // text.
  static Result<BytePairs> create(Ids ids, const Merges &merges,
                                  bool wholeFirst);
  // Of UTF-8 text, which begins as its characters. Errors: a merge's text or
  // the unknown token without an id.
  static Result<BytePairs> ofCharacters(Ids ids, const Merges &merges,
                                        bool wholeFirst,
                                        const Unknown &unknown);

  // Appends the tokens of a piece, not empty: of all pairs in it the earliest
  // merge's is merged, the leftmost of these first, until none can be. If
  // `wholeFirst`, a piece that has an id itself is that.
  void encode(std::string_view piece, std::vector<uint32_t> &tokens) const;

  // Of characters: the bytes up to a place that no token goes across, by what
  // the merges join. Pieces that begin and end there have the tokens of the
  // whole, but for `wholeFirst`.
  size_t firstUnjoined(std::string_view text) const;
  bool wholeFirst() const { return wholeFirst_; }
  // The piece's own id, if that is what it becomes.
  std::optional<uint32_t> wholeId(std::string_view piece) const;

private:
  struct PairMerge {
    uint32_t rank, id;
  };
  Status readMerges(const Merges &merges);
  void readJoints(const Merges &merges);
  std::vector<uint32_t> symbolsOf(std::string_view piece) const;
  bool isPlain(std::string_view character) const;
  const PairMerge *find(uint32_t left, uint32_t right) const;

  Ids ids_;
  std::array<std::optional<uint32_t>, 256> bytes_;
  std::unordered_map<uint64_t, PairMerge> merges_;
  bool wholeFirst_ = false;
  bool isOfCharacters_ = false;
  Unknown rules_;
  uint32_t unknown_ = 0;
  // Two characters that a merge's texts end and begin with.
  std::unordered_set<uint64_t> joints_;
  bool mayPart_ = false;
  bool hasAllBytes_ = false;
};

} // namespace dlc
