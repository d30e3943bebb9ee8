#include "runtime/train/Signals.h"

#include <csignal>

namespace dlc {
namespace {

volatile std::sig_atomic_t first = 0;
struct sigaction oldInterrupt, oldTerminate;

void remember(int signal) {
  if (!first)
    first = signal;
}

} // namespace

StopSignals::StopSignals() {
  first = 0;
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &oldInterrupt);
  ::sigaction(SIGTERM, &action, &oldTerminate);
}

StopSignals::~StopSignals() {
  ::sigaction(SIGINT, &oldInterrupt, nullptr);
  ::sigaction(SIGTERM, &oldTerminate, nullptr);
}

int StopSignals::caught() const { return first; }

} // namespace dlc
