// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/WeightStore.h"
#include "runtime/base/numbers/FloatCast.h"
#include <cstring>
#include <numeric>

namespace dlc::import {

int64_t Weight::elements() const {
  int64_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  return count;
}

void WeightStore::add(const std::string &name, Weight weight) {
  auto [at, isNew] = weights.insert_or_assign(name, std::move(weight));
  if (isNew)
    places.emplace(at->first, &at->second);
}

Weight WeightStore::kept(DType dtype, std::vector<int64_t> shape,
                         std::string bytes) {
  auto held = std::make_shared<const std::string>(std::move(bytes));
  keep(held);
  return {dtype, std::move(shape), held->data(), held->size()};
}

void WeightStore::remove(const std::string &name) {
  places.erase(name);
  weights.erase(name);
}

void WeightStore::keep(std::shared_ptr<const void> holder) {
  holders.push_back(std::move(holder));
}

const Weight *WeightStore::find(const std::string &name) const {
  auto it = places.find(name);
  return it == places.end() ? nullptr : it->second;
}

std::vector<float> floatsOf(const Weight &weight) {
  std::vector<float> values(size_t(weight.elements()));
  auto bytes = castFloats(weight.data, values.size(), weight.dtype, DType::F32);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<float> floatsOf(const std::string &bytes, DType dtype) {
  return floatsOf({dtype,
                   {int64_t(bytes.size() / sizeOf(dtype))},
                   bytes.data(),
                   bytes.size()});
}

std::string bytesOf(const std::vector<float> &values, DType dtype) {
  auto bytes = castFloats(values.data(), values.size(), DType::F32, dtype);
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// Zeros of either sign: folding multiplies by 0.
static bool isZeros(const Weight &weight) {
  const size_t size = sizeOf(weight.dtype);
  for (size_t i = 0; i < weight.bytes; ++i) {
    const bool hasSign = i % size == size - 1; // little-endian floats
    const char byte = weight.view()[i];
    if (byte != 0 && !(hasSign && byte == char(0x80)))
      return false;
  }
  return true;
}

bool isSplat(const Weight &weight) {
  const size_t size = sizeOf(weight.dtype);
  return weight.bytes >= size && weight.bytes > 0 &&
         (std::memcmp(weight.at(), weight.at(1), weight.bytes - size) == 0 ||
          isZeros(weight));
}

bool isZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == bytes.npos;
}

bool areEqual(const Weight &a, const Weight &b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         (a.data == b.data || a.view() == b.view());
}

/// Bytes of one slice along `axis` that are adjacent in memory.
static size_t sliceBytes(const Weight &weight, size_t axis) {
  return std::accumulate(weight.shape.begin() + ptrdiff_t(axis) + 1,
                         weight.shape.end(), sizeOf(weight.dtype),
                         std::multiplies<size_t>());
}

bool repeatsAlong(const Weight &weight, size_t axis) {
  const size_t inner = sliceBytes(weight, axis),
               block = inner * size_t(weight.shape[axis]);
  for (size_t at = 0; at < weight.bytes; at += block)
    if (std::memcmp(weight.at() + at, weight.at() + at + inner,
                    block - inner) != 0)
      return false;
  return true;
}

Weight firstAlong(const Weight &weight, size_t axis, std::string &bytes) {
  const size_t inner = sliceBytes(weight, axis),
               block = inner * size_t(weight.shape[axis]);
  std::string kept;
  for (size_t at = 0; at < weight.bytes; at += block)
    kept += weight.view().substr(at, inner);
  bytes = std::move(kept);
  Weight smaller = weight;
  smaller.shape[axis] = 1;
  smaller.data = bytes.data();
  smaller.bytes = bytes.size();
  return smaller;
}

std::string transposedBytes(const Weight &weight,
                            const std::vector<int64_t> &perm) {
  const size_t size = sizeOf(weight.dtype);
  std::string bytes(weight.bytes, '\0');
  walkTransposed(weight.shape, perm, [&](size_t to, size_t from) {
    std::memcpy(bytes.data() + to * size, weight.at(from), size);
    return true;
  });
  return bytes;
}

} // namespace dlc::import
