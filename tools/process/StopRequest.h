// SPDX-License-Identifier: Apache-2.0
// Stop signals, for a command that must finish some work first.
#pragma once

namespace dlc::process {

// During its lifetime SIGINT, SIGTERM and SIGHUP are recorded and do not end
// the process. One instance per process.
class StopRequest {
public:
  StopRequest();
  StopRequest(const StopRequest &) = delete;
  ~StopRequest();
  int signal() const; // the first one received; 0: none
};

} // namespace dlc::process
