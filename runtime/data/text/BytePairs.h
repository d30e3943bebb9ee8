// Byte-pair encoding (Sennrich, Haddow, Birch 2016) of bytes.
#pragma once

#include "runtime/base/Status.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dlc {

// Ids of texts, and pairs of them that become one. Immutable; any thread may
// read.
class BytePairs {
public:
  // `ids`: of texts, in bytes, among them each single byte. `merges`: pairs of
  // texts, the first one first. Errors: a byte without an id, or a merge's
  // text.
  static Result<BytePairs>
  create(std::unordered_map<std::string, uint32_t> ids,
         const std::vector<std::pair<std::string, std::string>> &merges,
         bool wholeFirst);

  // Appends the tokens of a piece, not empty: of all pairs in it the earliest
  // merge's is merged, the leftmost of these first, until none can be. If
  // `wholeFirst`, a piece that has an id itself is that.
  void encode(std::string_view piece, std::vector<uint32_t> &tokens) const;

private:
  struct PairMerge {
    uint32_t rank, id;
  };
  const PairMerge *find(uint32_t left, uint32_t right) const;

  std::unordered_map<std::string, uint32_t> ids_;
  std::array<uint32_t, 256> bytes_{};
  std::unordered_map<uint64_t, PairMerge> merges_;
  bool wholeFirst_ = false;
};

} // namespace dlc
