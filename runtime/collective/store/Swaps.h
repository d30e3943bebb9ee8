// SPDX-License-Identifier: Apache-2.0
// What ranks exchange through rank 0's store, each with all, in one message and
// one answer each: what does not scale as keys, which each of N ranks would
// read of N others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlc::store {

// For one thread. Nothing of a swap is kept after its answers.
class Swaps {
public:
  explicit Swaps(int size) : size_(static_cast<size_t>(size)) {}

  // A rank's part of the swap `key`: what all get, and `pieces` of equal sizes,
  // one for each rank, in their order. False for other pieces, other sizes than
  // another rank's, or a second part of a rank.
  bool add(const std::string &key, int rank, std::string all,
           std::string pieces);
  bool isComplete(const std::string &key) const;
  // Of a complete one: by rank, its text for all (u64 bytes, and they) and its
  // piece for `rank`.
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
