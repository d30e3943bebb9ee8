// SPDX-License-Identifier: Apache-2.0
// The keys and values of a store, and what queries do with them.
#pragma once

#include "runtime/collective/store/Protocol.h"

#include <map>
#include <optional>

namespace dlc::store {

// For one thread. At most `limit` bytes of keys and values.
class KeyValues {
public:
  explicit KeyValues(size_t limit) : limit_(limit) {}

  size_t size() const { return values_.size(); }
  bool has(const std::vector<std::string> &keys) const;
  // Null if it is not set.
  const std::string *find(const std::string &key) const;
  // How many there were: 0 or 1.
  size_t erase(const std::string &key);
  // What Set, MultiSet, Append, Add and CompareSet do: nothing if it would be
  // too much, or is no number; else the answer, and which keys it has set.
  struct Change {
    std::string answer;
    std::vector<std::string> keys;
  };
  std::optional<Change> change(const Message &message);

private:
  bool set(const std::string &key, std::string value, Change &change);
  bool compareSet(const Message &message, Change &change);

  const size_t limit_;
  std::map<std::string, std::string> values_;
  size_t stored_ = 0; // bytes of them
};

} // namespace dlc::store
