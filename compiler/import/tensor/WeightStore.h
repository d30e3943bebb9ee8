// SPDX-License-Identifier: Apache-2.0
// The model's tensors by name, as views of memory that the store keeps alive,
// and access to their elements.
#pragma once
#include "runtime/base/numbers/DType.h"
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dlc::import {

/// A dense row-major tensor in memory of another owner. `data` may be
/// unaligned: read it with memcpy.
struct Weight {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const void *data = nullptr;
  size_t bytes = 0;

  int64_t elements() const;
  std::string_view view() const {
    return {static_cast<const char *>(data), bytes};
  }
  /// The bytes from an element on.
  const char *at(size_t element = 0) const {
    return static_cast<const char *>(data) + element * sizeOf(dtype);
  }
};

/// Maps names to weights. Views point into the parsed model, a mapped external
/// data file or a buffer that the store owns; all live as long as the store.
/// Move-only; reading is thread-safe.
class WeightStore {
public:
  WeightStore() = default;
  WeightStore(WeightStore &&) = default;
  WeightStore &operator=(WeightStore &&) = default;

  /// Adds a view; replaces an entry of the same name.
  void add(const std::string &name, Weight weight);
  /// Adds a tensor and takes ownership of its bytes.
  void own(const std::string &name, DType dtype, std::vector<int64_t> shape,
           std::string bytes) {
    add(name, kept(dtype, std::move(shape), std::move(bytes)));
  }
  /// A tensor of bytes that the store owns, without an entry.
  Weight kept(DType dtype, std::vector<int64_t> shape, std::string bytes);
  /// Removes an entry; the memory it points to stays alive.
  void remove(const std::string &name);
  /// Extends the lifetime of `holder` to that of the store.
  void keep(std::shared_ptr<const void> holder);

  /// nullptr if there is no such weight.
  const Weight *find(const std::string &name) const;
  const std::map<std::string, Weight> &all() const { return weights; }

private:
  std::map<std::string, Weight> weights; // in order, for `all`
  std::unordered_map<std::string_view, const Weight *> places; // for `find`
  std::vector<std::shared_ptr<const void>> holders;
};

/// The elements of a float tensor of any width as f32.
std::vector<float> floatsOf(const Weight &weight);
/// The elements of a tensor of type `dtype`.
std::vector<float> floatsOf(const std::string &bytes, DType dtype);
/// Rounds to `dtype`.
std::string bytesOf(const std::vector<float> &values, DType dtype);

/// All elements of a float tensor are equal: bit for bit, or zeros.
bool isSplat(const Weight &weight);
/// All bits are 0.
bool isZero(std::string_view bytes);
/// The same type, shape and bits.
bool areEqual(const Weight &a, const Weight &b);

/// All slices along `axis` are equal.
bool repeatsAlong(const Weight &weight, size_t axis);
/// The elements at index 0 of `axis`, copied to `bytes`.
Weight firstAlong(const Weight &weight, size_t axis, std::string &bytes);

/// Calls visit(i, j) for each element i of a tensor of this shape transposed by
/// `perm`, which is element j of the tensor itself, until it returns false.
/// Returns whether all were visited.
template <class Visit>
bool walkTransposed(const std::vector<int64_t> &shape,
                    const std::vector<int64_t> &perm, Visit visit) {
  const size_t rank = perm.size();
  std::vector<size_t> strides(rank, 1), index(rank, 0);
  for (size_t d = rank; d-- > 1;)
    strides[d - 1] = strides[d] * size_t(shape[d]);
  size_t count = 1, at = 0;
  for (int64_t size : shape)
    count *= size_t(size);
  for (size_t i = 0; i < count; ++i) {
    if (!visit(i, at))
      return false;
    for (size_t d = rank; d-- > 0;) {
      const size_t axis = size_t(perm[d]), size = size_t(shape[axis]);
      at += strides[axis];
      if (++index[d] < size)
        break;
      at -= strides[axis] * size;
      index[d] = 0;
    }
  }
  return true;
}

/// The elements transposed by `perm`.
std::string transposedBytes(const Weight &weight,
                            const std::vector<int64_t> &perm);

} // namespace dlc::import
