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

/// Finds the tensor that another one is a copy of, by hashes of contents: the
/// cost of all searches is linear in the bytes of what is added and sought.
class CopyFinder {
public:
  struct Found {
    std::string name;
    Arrangement how;
  };

  /// Announces what will be sought; only what may match is hashed.
  void expect(const Weight &copy);
  /// Adds a tensor that others may be copies of. Those with equal elements only
  /// and those with fewer than 8 are not taken. The first of equals counts.
  void add(const std::string &name, const Weight &weight);
  std::optional<Found> find(const Weight &copy) const;

private:
  struct Row {
    size_t tensor;
    int64_t row;
    bool several = false; // of one content
  };
  std::optional<Found> findRows(const Weight &copy) const;

  std::unordered_set<int64_t> counts, widths; // of what is sought
  std::vector<std::pair<std::string, Weight>> tensors;
  std::unordered_map<uint64_t, size_t> whole; // by content in any order
  std::unordered_map<uint64_t, Row> rows;
};

} // namespace dlc::import
