// SPDX-License-Identifier: Apache-2.0
// All-to-all exchanges of the ranks through rank 0's store, with one message
// and one answer per rank: as keys, each of N ranks would read N values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlc::store {

// Not thread-safe. A swap is deleted after its answers.
class Swaps {
public:
  explicit Swaps(int size) : size_(static_cast<size_t>(size)) {}

  // Adds a rank's data to the swap `key`: `all` for all ranks, and `pieces` of
  // equal sizes, one for each rank, in rank order. False if the pieces do not
  // have equal sizes, or other sizes than another rank's, or if the rank has
  // already added its data.
  bool add(const std::string &key, int rank, std::string all,
           std::string pieces);
  bool isComplete(const std::string &key) const;
  // The answer of a complete swap: for each rank in order, its text for all
  // (u64 bytes, then the text) and its piece for `rank`.
  std::string answerTo(const std::string &key, int rank) const;
  void erase(const std::string &key) { swaps_.erase(key); }

private:
  struct Part {
    std::string all, pieces;
  };
  struct Swap {
    std::vector<std::optional<Part>> parts; // by rank
    size_t there = 0, piece = 0;
  };

  const size_t size_;
  std::map<std::string, Swap> swaps_;
};

} // namespace dlc::store
