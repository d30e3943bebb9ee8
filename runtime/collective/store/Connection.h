// SPDX-License-Identifier: Apache-2.0
// One client of rank 0's store, as the server sees it.
#pragma once

#include "runtime/collective/Socket.h"

#include <string>
#include <vector>

namespace dlc::store {

struct Connection {
  Socket socket;
  int rank = -1; // not said, or of a client that is none
  bool validated = false, watches = false, left = false;
  std::string in, out;                // not read, not sent
  std::vector<std::string> wanted;    // the keys that it waits for,
  std::string swap;                   // or the swap
  Socket::Clock::time_point due;      // of what is half done
  bool closed = false, sends = false; // sends: it is to take what is in `out`
  bool waits() const { return !wanted.empty() || !swap.empty(); }

  template <class T> void tell(T value) {
    out.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void tellText(const std::string &text) {
    tell<uint64_t>(text.size());
    out += text;
  }
};

} // namespace dlc::store
