// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/SignalHandlers.h"

namespace dlc {

static void maskSaveSignal(int how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, kSaveSignal);
  ::pthread_sigmask(how, &set, nullptr);
}

void holdSaveSignal() { maskSaveSignal(SIG_BLOCK); }

SignalHandlers::SignalHandlers(Handler handler) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kRunSignals.size(); ++i) {
    ::sigaction(kRunSignals[i], nullptr, &before_[i]);
    if ((before_[i].sa_flags & SA_SIGINFO) || before_[i].sa_handler != SIG_IGN)
      ::sigaction(kRunSignals[i], &action, nullptr);
  }
  maskSaveSignal(SIG_UNBLOCK);
}

void SignalHandlers::restore() const {
  for (size_t i = 0; i < kRunSignals.size(); ++i)
    ::sigaction(kRunSignals[i], &before_[i], nullptr);
}

void ignoreWriteSignals() {
  for (int signal : {SIGPIPE, SIGXFSZ})
    std::signal(signal, SIG_IGN);
}

} // namespace dlc
