// SPDX-License-Identifier: Apache-2.0
// Programs that a sweep runs beside each other.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dlc::tool {

// Starts words[0], a path, with the other words; what it prints is added to the
// file `log`. It gets SIGTERM when this process dies, whatever of. What of this
// process's files is not close-on-exec stays open in it. Its process.
Result<int> startChild(const std::vector<std::string> &words,
                       const std::string &log);

// Waits for one of the children, or, while a StopRequest lives, until one has
// come: then `pid` is 0. `code`: its exit code, or 128 + a signal's number.
struct ChildEnd {
  int pid = 0, code = 0;
};
Result<ChildEnd> waitForChild();

// While it lives SIGINT, SIGTERM and SIGHUP are taken instead of ending the
// process.
class StopRequest {
public:
  StopRequest();
  StopRequest(const StopRequest &) = delete;
  ~StopRequest();
  int signal() const; // that came first; 0: none
};

} // namespace dlc::tool
