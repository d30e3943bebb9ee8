// SPDX-License-Identifier: Apache-2.0
// The keys and values of a store, and the queries that change them.
#pragma once

#include "runtime/collective/store/Protocol.h"

#include <map>
#include <optional>

namespace dlc::store {

// Not thread-safe. Stores at most `limit` bytes of keys and values.
class KeyValues {
public:
  explicit KeyValues(size_t limit) : limit_(limit) {}

  size_t size() const { return values_.size(); }
  bool has(const std::vector<std::string> &keys) const;
  // Null if it is not set.
  const std::string *find(const std::string &key) const;
  // Returns the number of erased keys: 0 or 1.
  size_t erase(const std::string &key);
  // Performs Set, MultiSet, Append, Add or CompareSet: returns the answer and
  // the keys that were set; empty, without an answer, if a limit would be
  // exceeded or Add's value is no number.
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
  size_t stored_ = 0; // bytes of keys and values
};

} // namespace dlc::store
