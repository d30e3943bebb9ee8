// SPDX-License-Identifier: Apache-2.0
// Finds tensors that are rearranged copies of other tensors.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace dlc::import {

/// How `copy` is computed from `source`.
struct Arrangement {
  enum Kind { Same, Reshape, Transpose, Rows } kind = Same;
  std::vector<int64_t> perm; // Transpose
  std::vector<int64_t> rows; // Rows: source's row for each row of copy; a row
                             // is the last dimension
};

/// The arrangement if `copy` has the elements of `source` in the same order, or
/// transposed (up to four dimensions).
std::optional<Arrangement> arrangementOf(const Weight &source,
                                         const Weight &copy);

/// Large and diverse enough that equality to another tensor is no coincidence.
bool canBeCopied(const Weight &weight);
/// A hash that does not depend on the order of the elements.
uint64_t contentHash(const Weight &weight);

/// Finds the tensor that another one is a copy of, by hashes of contents. Only
/// tensors whose size and corner elements match another's are hashed: the cost
/// of all searches is at most linear in the bytes that are added and searched.
class CopyFinder {
public:
  struct Found {
    std::string name;
    Arrangement how;
  };

  /// Registers a tensor that will be searched, before the first `add`. `rows`:
  /// some rows of another tensor are a match, too.
  void expect(const Weight &copy, bool rows);
  /// Adds a possible source, unless it has fewer than 8 elements or all are
  /// equal. Of equal tensors the first is found.
  void add(const std::string &name, const Weight &weight);
  std::optional<Found> find(const Weight &copy);

private:
  struct Row {
    size_t tensor;
    int64_t row;
    bool several = false; // several rows have this content
  };
  std::optional<size_t> findWhole(const Weight &copy);
  std::optional<Found> findRows(const Weight &copy) const;

  std::unordered_set<int64_t> widths; // row widths of registered copies
  std::vector<std::pair<std::string, Weight>> tensors;
  std::unordered_map<uint64_t, std::vector<size_t>>
      corners;                                // corners of registered copies
  std::unordered_set<uint64_t> hashed;        // corners of tensors in
  std::unordered_map<uint64_t, size_t> whole; // `whole`, by contentHash
  std::unordered_map<uint64_t, Row> rows;
};

} // namespace dlc::import
