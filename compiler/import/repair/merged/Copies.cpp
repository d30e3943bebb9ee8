// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/merged/Copies.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <cstring>
#include <numeric>

namespace dlc::import {
namespace {

constexpr int64_t kFewest = 8; // equality of fewer may be coincidence
constexpr size_t kMaxPermuted = 4;

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9ull;
  return x ^ (x >> 32);
}

uint64_t bitsAt(const Weight &weight, size_t element) {
  uint64_t bits = 0;
  std::memcpy(&bits, weight.at(element), sizeOf(weight.dtype));
  return bits;
}

size_t countOf(const Weight &weight) {
  return weight.bytes / sizeOf(weight.dtype);
}

/// Hash of size, first and last element, which are the same for all transposed
/// and reshaped copies.
uint64_t cornersHash(const Weight &weight) {
  const uint64_t first = bitsAt(weight, 0),
                 last = bitsAt(weight, countOf(weight) - 1);
  return mix(mix(first + 1) ^ last) ^
         mix(weight.bytes * 16 + uint64_t(weight.dtype));
}

std::string_view rowOf(const Weight &weight, int64_t row) {
  const size_t bytes = size_t(weight.shape.back()) * sizeOf(weight.dtype);
  return weight.view().substr(size_t(row) * bytes, bytes);
}

int64_t rowsOf(const Weight &weight) {
  return int64_t(countOf(weight)) / weight.shape.back();
}

uint64_t rowHash(const Weight &weight, int64_t row) {
  const std::string_view bytes = rowOf(weight, row);
  return llvm::xxh3_64bits(bytes) ^
         mix(bytes.size() * 16 + uint64_t(weight.dtype));
}

bool isTransposed(const Weight &source, const Weight &copy,
                  const std::vector<int64_t> &perm) {
  for (size_t d = 0; d < perm.size(); ++d)
    if (copy.shape[d] != source.shape[size_t(perm[d])])
      return false;
  return walkTransposed(source.shape, perm, [&](size_t to, size_t from) {
    return bitsAt(copy, to) == bitsAt(source, from);
  });
}

} // namespace

uint64_t contentHash(const Weight &weight) {
  uint64_t sum = 0;
  for (size_t i = 0; i < countOf(weight); ++i)
    sum += mix(bitsAt(weight, i) + 1);
  return mix(sum ^ mix(weight.bytes * 16 + uint64_t(weight.dtype)));
}

bool canBeCopied(const Weight &weight) {
  return isFloat(weight.dtype) && weight.elements() >= kFewest &&
         !isSplat(weight);
}

std::optional<Arrangement> arrangementOf(const Weight &source,
                                         const Weight &copy) {
  if (source.dtype != copy.dtype || source.bytes != copy.bytes)
    return std::nullopt;
  Arrangement how;
  if (source.data == copy.data || source.view() == copy.view()) {
    how.kind =
        source.shape == copy.shape ? Arrangement::Same : Arrangement::Reshape;
    return how;
  }
  if (source.shape.size() != copy.shape.size() ||
      copy.shape.size() > kMaxPermuted)
    return std::nullopt;
  how.kind = Arrangement::Transpose;
  how.perm.resize(copy.shape.size());
  std::iota(how.perm.begin(), how.perm.end(), 0);
  while (std::next_permutation(how.perm.begin(), how.perm.end()))
    if (isTransposed(source, copy, how.perm))
      return how;
  return std::nullopt;
}

void CopyFinder::expect(const Weight &copy, bool rows) {
  if (!canBeCopied(copy))
    return;
  corners.try_emplace(cornersHash(copy));
  if (rows && copy.shape.size() > 1 && copy.shape.back() >= kFewest)
    widths.insert(copy.shape.back());
}

void CopyFinder::add(const std::string &name, const Weight &weight) {
  if (!canBeCopied(weight))
    return;
  size_t tensor = tensors.size();
  tensors.emplace_back(name, weight);
  if (auto it = corners.find(cornersHash(weight)); it != corners.end())
    it->second.push_back(tensor);
  if (weight.shape.size() > 3 || !widths.count(weight.shape.back()))
    return;
  for (int64_t row = 0; row < rowsOf(weight); ++row)
    if (auto [it, first] = rows.emplace(rowHash(weight, row), Row{tensor, row});
        !first)
      it->second.several = true;
}

std::optional<CopyFinder::Found> CopyFinder::find(const Weight &copy) {
  if (!canBeCopied(copy))
    return std::nullopt;
  if (auto tensor = findWhole(copy))
    if (auto how = arrangementOf(tensors[*tensor].second, copy))
      return Found{tensors[*tensor].first, *how};
  return findRows(copy);
}

/// The first with the same elements. A tensor with unique corners is not
/// hashed.
std::optional<size_t> CopyFinder::findWhole(const Weight &copy) {
  uint64_t key = cornersHash(copy);
  auto bucket = corners.find(key);
  if (bucket == corners.end() || bucket->second.empty())
    return std::nullopt;
  if (bucket->second.size() == 1)
    return bucket->second[0];
  if (hashed.insert(key).second)
    for (size_t tensor : bucket->second)
      whole.emplace(contentHash(tensors[tensor].second), tensor);
  auto it = whole.find(contentHash(copy));
  return it == whole.end() ? std::nullopt : std::optional(it->second);
}

/// Matches rows of one tensor that occur only once.
std::optional<CopyFinder::Found>
CopyFinder::findRows(const Weight &copy) const {
  if (copy.shape.size() < 2 || copy.shape.back() < kFewest)
    return std::nullopt;
  Arrangement how;
  how.kind = Arrangement::Rows;
  std::optional<size_t> tensor;
  for (int64_t row = 0; row < rowsOf(copy); ++row) {
    auto it = rows.find(rowHash(copy, row));
    if (it == rows.end() || it->second.several ||
        it->second.tensor != tensor.value_or(it->second.tensor))
      return std::nullopt;
    tensor = it->second.tensor;
    const Weight &source = tensors[*tensor].second;
    if (source.shape.back() != copy.shape.back() ||
        rowOf(source, it->second.row) != rowOf(copy, row))
      return std::nullopt;
    how.rows.push_back(it->second.row);
  }
  return Found{tensors[*tensor].first, std::move(how)};
}

} // namespace dlc::import
