// SPDX-License-Identifier: Apache-2.0
// Makes connections fail when the peer is unreachable, whatever the deadlines
// of waits: a slow peer still acknowledges.
#pragma once

#include <chrono>
#include <set>
#include <string_view>

#include <sys/types.h>

namespace dlc {

// Gloo has no option for its sockets and does not expose them, so they are
// found as the sockets that this process opens while this object exists.
class SilentLinks {
public:
  SilentLinks(); // records the open sockets

  // Sets a timeout, at least 2 s, on TCP connections opened since: their waits
  // end with ETIMEDOUT when neither sent data nor probes are acknowledged for
  // that long. Other connections opened meanwhile are affected, too.
  void end(std::chrono::milliseconds silence) const;

  // Whether gloo's message reports this timeout.
  static bool isOne(std::string_view what) {
    return what.find("Connection timed out") != what.npos;
  }

private:
  std::set<ino_t> open_;
};

} // namespace dlc
