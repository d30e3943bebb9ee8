// SPDX-License-Identifier: Apache-2.0
// Signals that ask a command to stop, for one that has something to finish.
#pragma once

namespace dlc::process {

// While it lives, SIGINT, SIGTERM and SIGHUP are recorded and do not end the
// process. One a process at a time.
class StopRequest {
public:
  StopRequest();
  StopRequest(const StopRequest &) = delete;
  ~StopRequest();
  int signal() const; // the first one that came; 0: none
};

} // namespace dlc::process
