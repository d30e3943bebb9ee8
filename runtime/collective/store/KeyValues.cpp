// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/store/KeyValues.h"
#include "runtime/base/numbers/ParseNumber.h"

#include <algorithm>

namespace dlc::store {

// Parses a value of Add: decimal digits; an empty value is 0.
static std::optional<int64_t> numberOf(std::string_view text) {
  return text.empty() ? 0 : asNumber<int64_t>(text);
}

bool KeyValues::has(const std::vector<std::string> &keys) const {
  return std::ranges::all_of(
      keys, [this](const auto &key) { return values_.count(key) > 0; });
}

const std::string *KeyValues::find(const std::string &key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

size_t KeyValues::erase(const std::string &key) {
  const auto found = values_.find(key);
  if (found == values_.end())
    return 0;
  stored_ -= key.size() + found->second.size();
  values_.erase(found);
  return 1;
}

bool KeyValues::set(const std::string &key, std::string value, Change &change) {
  const std::string *found = find(key);
  const size_t before = found ? key.size() + found->size() : 0;
  const size_t after = stored_ - before + key.size() + value.size();
  if (after > limit_)
    return false;
  stored_ = after;
  values_[key] = std::move(value);
  change.keys.push_back(key);
  return true;
}

// A key that is not set has the value "", but the answer after a failed
// comparison is `expected`, as in PyTorch's store.
bool KeyValues::compareSet(const Message &message, Change &change) {
  const std::string &expected = message.values[0];
  const std::string *found = find(message.keys[0]);
  const std::string now = found ? *found : "";
  const bool same = now == expected;
  const std::string &text = same ? message.values[1] : found ? now : expected;
  const uint64_t size = text.size();
  change.answer.assign(reinterpret_cast<const char *>(&size), sizeof size);
  change.answer += text;
  return !same || set(message.keys[0], message.values[1], change);
}

std::optional<KeyValues::Change> KeyValues::change(const Message &message) {
  const auto &[query, keys, values, number] = message;
  Change change;
  bool done = true;
  const std::string *found = keys.empty() ? nullptr : find(keys[0]);
  const std::string now = found ? *found : "";
  if (query == Query::Set || query == Query::MultiSet) {
    for (size_t i = 0; done && i < keys.size(); ++i)
      done = set(keys[i], values[i], change);
  } else if (query == Query::Append) {
    done = now.size() + values[0].size() <= Limits::kValue &&
           set(keys[0], now + values[0], change);
  } else if (query == Query::Add) {
    const auto before = numberOf(now);
    int64_t sum = 0;
    done = before && !__builtin_add_overflow(*before, number, &sum) &&
           set(keys[0], std::to_string(sum), change);
    change.answer.assign(reinterpret_cast<const char *>(&sum), sizeof sum);
  } else {
    done = compareSet(message, change);
  }
  return done ? std::optional(std::move(change)) : std::nullopt;
}

} // namespace dlc::store
