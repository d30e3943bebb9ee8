// SPDX-License-Identifier: Apache-2.0
// Connections that break when the peer is unreachable, regardless of the
// deadlines of waits: a slow peer still acknowledges.
#pragma once

#include <chrono>
#include <set>
#include <string_view>

#include <sys/types.h>

namespace dlc {

// Gloo has no option for its sockets and does not expose them: they are those
// that this process opens while this object exists.
class SilentLinks {
public:
  SilentLinks(); // those that are open

  // TCP connections that were opened since: their waits end with ETIMEDOUT when
  // neither sent data nor probes are acknowledged for this time, at least 2 s.
  // Other connections opened meanwhile are affected, too.
  void end(std::chrono::milliseconds silence) const;

  // Whether gloo's message reports this timeout.
  static bool isOne(std::string_view what) {
    return what.find("Connection timed out") != what.npos;
  }

private:
  std::set<ino_t> open_;
};

} // namespace dlc
