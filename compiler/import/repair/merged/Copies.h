// SPDX-License-Identifier: Apache-2.0
// Tensors that are another tensor's values in another arrangement.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace dlc::import {

/// How `copy` comes from `source`.
struct Arrangement {
  enum Kind { Same, Reshape, Transpose, Rows } kind = Same;
  std::vector<int64_t> perm; // Transpose
  std::vector<int64_t> rows; // Rows: one of source's rows for each of copy's; a
                             // row is the last dimension
};

/// Equal values in the same order, or in that of a transposed tensor of up to
/// four dimensions.
std::optional<Arrangement> arrangementOf(const Weight &source,
                                         const Weight &copy);

/// Large enough, and varied enough, not to be equal to others by chance.
bool canBeCopied(const Weight &weight);
/// The same for every order of the elements.
uint64_t contentHash(const Weight &weight);

/// Finds the tensor that another one is a copy of, by hashes of contents, taken
/// of those only whose size and corners agree with another's: the cost of all
/// searches is at most linear in the bytes of what is added and sought.
class CopyFinder {
public:
  struct Found {
    std::string name;
    Arrangement how;
  };

  /// Announces what will be sought, before the first `add`, and whether some
  /// rows of another tensor will do.
  void expect(const Weight &copy, bool rows);
  /// Adds a tensor that others may be copies of. Those with equal elements only
  /// and those with fewer than 8 are not taken. The first of equals counts.
  void add(const std::string &name, const Weight &weight);
  std::optional<Found> find(const Weight &copy);

private:
  struct Row {
    size_t tensor;
    int64_t row;
    bool several = false; // of one content
  };
  std::optional<size_t> findWhole(const Weight &copy);
  std::optional<Found> findRows(const Weight &copy) const;

  std::unordered_set<int64_t> widths; // of what is sought by rows
  std::vector<std::pair<std::string, Weight>> tensors;
  std::unordered_map<uint64_t, std::vector<size_t>>
      corners;                                // of what is sought
  std::unordered_set<uint64_t> hashed;        // corners whose tensors are in
  std::unordered_map<uint64_t, size_t> whole; // this, by content in any order
  std::unordered_map<uint64_t, Row> rows;
};

} // namespace dlc::import
