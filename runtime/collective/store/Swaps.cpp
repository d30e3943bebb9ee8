// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/store/Swaps.h"

namespace dlc::store {

bool Swaps::add(const std::string &key, int rank, std::string all,
                std::string pieces) {
  const size_t piece = pieces.size() / size_;
  if (pieces.size() % size_ != 0)
    return false;
  Swap &swap = swaps_[key];
  if (swap.there == 0) {
    swap.parts.resize(size_);
    swap.piece = piece;
  }
  auto &part = swap.parts[static_cast<size_t>(rank)];
  if (part || swap.piece != piece)
    return false;
  part = Part{std::move(all), std::move(pieces)};
  ++swap.there;
  return true;
}

bool Swaps::isComplete(const std::string &key) const {
  const auto found = swaps_.find(key);
  return found != swaps_.end() && found->second.there == size_;
}

std::string Swaps::answerTo(const std::string &key, int rank) const {
  const Swap &swap = swaps_.at(key);
  std::string text;
  text.reserve(size_ *
               (sizeof(uint64_t) + swap.parts[0]->all.size() + swap.piece));
  for (const auto &part : swap.parts) {
    const uint64_t size = part->all.size();
    text.append(reinterpret_cast<const char *>(&size), sizeof size);
    text += part->all;
    text.append(part->pieces, static_cast<size_t>(rank) * swap.piece,
                swap.piece);
  }
  return text;
}

} // namespace dlc::store
