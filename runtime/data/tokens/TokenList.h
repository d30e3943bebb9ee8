// SPDX-License-Identifier: Apache-2.0
// Tokens in a row, wherever they are.
#pragma once

#include <cstdint>
#include <string>

namespace dlc {

// Immutable; any thread may read.
class TokenList {
public:
  virtual ~TokenList() = default;

  // The file's path.
  virtual const std::string &path() const = 0;
  virtual int64_t count() const = 0;
  // Tokens [first, first + count).
  virtual void read(int64_t first, int64_t count, int64_t *to) const = 0;
};

} // namespace dlc
