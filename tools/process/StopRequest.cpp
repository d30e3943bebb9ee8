// SPDX-License-Identifier: Apache-2.0
#include "tools/process/StopRequest.h"

#include <csignal>

namespace dlc::process {
namespace {

volatile sig_atomic_t stopSignal = 0;

void takeStop(int signal) {
  if (!stopSignal)
    stopSignal = signal;
}

void handle(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    ::sigaction(signal, &action, nullptr);
}

} // namespace

StopRequest::StopRequest() {
  stopSignal = 0;
  handle(takeStop);
}
StopRequest::~StopRequest() { handle(SIG_DFL); }
int StopRequest::signal() const { return stopSignal; }

} // namespace dlc::process
