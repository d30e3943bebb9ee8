// SPDX-License-Identifier: Apache-2.0
// Connections that break when the other end cannot be reached, however patient
// those are who wait for it: a peer that is slow still acknowledges.
#pragma once

#include <chrono>
#include <set>
#include <string_view>

#include <sys/types.h>

namespace dlc {

// Gloo has no option for its sockets and does not show them: they are those
// that this process has opened in the meantime.
class SilentLinks {
public:
  SilentLinks(); // those that are open

  // Connections over TCP that were opened since: what waits for one of them
  // ends with ETIMEDOUT when nothing comes of what was sent, or of probes, for
  // at most so long. From 2 s on. Others that were opened beside them get it,
  // too.
  void end(std::chrono::milliseconds silence) const;

  // Whether that is what gloo says.
  static bool isOne(std::string_view what) {
    return what.find("Connection timed out") != what.npos;
  }

private:
  std::set<ino_t> open_;
};

} // namespace dlc
