// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/WeightStore.h"

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

} // namespace dlc::import
