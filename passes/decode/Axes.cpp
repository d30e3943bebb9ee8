// SPDX-License-Identifier: Apache-2.0
#include "passes/decode/Axes.h"

#include "llvm/ADT/STLExtras.h"

namespace dlc::decode {

Dim freeDim(int64_t size) {
  return size == 1 ? Dim() : Dim{{Axis::Free, size}};
}

Dims freeDims(llvm::ArrayRef<int64_t> shape) {
  return llvm::map_to_vector<4>(shape, freeDim);
}

bool isFree(const Dim &dim) {
  return llvm::all_of(dim, [](Factor f) { return f.axis == Axis::Free; });
}

bool has(const Dim &dim, Axis axis) {
  return llvm::any_of(dim, [&](Factor f) { return f.axis == axis; });
}

int64_t sizeOf(const Dim &dim) {
  int64_t size = 1;
  for (Factor f : dim)
    size *= f.size;
  return size;
}

int64_t rowSize(const Dim &dim, int64_t tokens) {
  int64_t size = 1;
  for (Factor f : dim)
    size *= f.axis == Axis::Free ? f.size : f.axis == Axis::Time ? tokens : 1;
  return size;
}

llvm::SmallVector<int64_t> rowShape(const Dims &dims, int64_t tokens) {
  return llvm::map_to_vector(
      dims, [&](const Dim &dim) { return rowSize(dim, tokens); });
}

static void append(Dim &dim, Factor factor) {
  if (!dim.empty() && dim.back().axis == Axis::Free &&
      factor.axis == Axis::Free)
    dim.back().size *= factor.size;
  else
    dim.push_back(factor);
}

std::optional<Dims> regroup(const Dims &dims, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<Factor> all;
  for (const Dim &dim : dims)
    all.append(dim.begin(), dim.end());
  Dims made;
  size_t next = 0;
  for (int64_t size : shape) {
    Dim &dim = made.emplace_back();
    while (size > 1) {
      if (next == all.size())
        return std::nullopt;
      Factor &factor = all[next];
      if (size % factor.size == 0) {
        append(dim, factor);
        size /= factor.size;
        ++next;
      } else if (factor.axis == Axis::Free && factor.size % size == 0) {
        append(dim, {Axis::Free, size});
        factor.size /= size;
        size = 1;
      } else {
        return std::nullopt;
      }
    }
  }
  return next == all.size() ? std::optional(std::move(made)) : std::nullopt;
}

} // namespace dlc::decode
