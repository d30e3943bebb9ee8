// SPDX-License-Identifier: Apache-2.0
// Server-side state of one client of rank 0's store.
#pragma once

#include "runtime/collective/Socket.h"

#include <string>
#include <vector>

namespace dlc::store {

struct Connection {
  Socket socket;
  int rank = -1; // not sent yet, or the client is no rank
  bool validated = false, watches = false, left = false;
  std::string in, out;                // received but not parsed; not sent
  std::vector<std::string> wanted;    // the keys for which it waits,
  std::string swap;                   // or the swap
  Socket::Clock::time_point due;      // deadline of unfinished transfers
  bool closed = false, sends = false; // sends: polled for writing
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
