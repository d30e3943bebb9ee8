// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Replaced.h"

namespace dlc::import {
namespace {

/// Number of elements; -1 for an invalid shape.
int64_t countOf(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t dim : shape)
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count))
      return -1;
  return count;
}

/// `shape` has the elements of `from` transposed by `perm`.
bool isArranged(const Replaced &r) {
  std::vector<bool> seen(r.from.size());
  for (size_t d = 0; d < r.perm.size(); ++d) {
    const int64_t axis = r.perm[d];
    if (axis < 0 || axis >= int64_t(seen.size()) || seen[size_t(axis)] ||
        r.shape[d] != r.from[size_t(axis)])
      return false;
    seen[size_t(axis)] = true;
  }
  return true;
}

} // namespace

Result<DType> covers(const Replaced &r, const FindWeight &find) {
  std::optional<DType> dtype;
  int64_t count = 0;
  for (const Replaced::Piece &piece : r.pieces) {
    auto tensor = find(piece.tensor);
    if (!tensor)
      return corrupt("no value for tensor '{}', which '{}' of the source model "
                     "is made of",
                     piece.tensor, r.name);
    const auto held = int64_t(tensor->bytes / sizeOf(tensor->dtype));
    if (piece.first < 0 || piece.count < 0 || piece.first > held ||
        piece.count > held - piece.first ||
        tensor->dtype != dtype.value_or(tensor->dtype) ||
        __builtin_add_overflow(count, piece.count, &count))
      return corrupt("tensor '{}' does not hold its part of '{}': found {} "
                     "elements, expected {} from {}",
                     piece.tensor, r.name, held, piece.count, piece.first);
    dtype = tensor->dtype;
  }
  bool fits =
      dtype && countOf(r.shape) == count && countOf(r.from) == count &&
      (r.perm.empty() || (r.perm.size() == r.shape.size() &&
                          r.perm.size() == r.from.size() && isArranged(r)));
  if (!fits)
    return corrupt("the parts of '{}' have {} elements, which do not fit its "
                   "shape",
                   r.name, count);
  return *dtype;
}

Result<Gathered> gather(const Replaced &r, const FindWeight &find) {
  DLC_ASSIGN(DType dtype, covers(r, find));
  const size_t size = sizeOf(dtype);
  std::string bytes;
  for (const Replaced::Piece &piece : r.pieces)
    bytes.append(find(piece.tensor)->at(size_t(piece.first)),
                 size_t(piece.count) * size);
  if (!r.perm.empty())
    bytes =
        transposedBytes({dtype, r.from, bytes.data(), bytes.size()}, r.perm);
  return Gathered{dtype, std::move(bytes)};
}

} // namespace dlc::import
