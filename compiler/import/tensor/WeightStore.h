// SPDX-License-Identifier: Apache-2.0
// The model's tensors by name, as views of memory that the store keeps alive.
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

} // namespace dlc::import
