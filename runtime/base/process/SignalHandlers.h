// SPDX-License-Identifier: Apache-2.0
// Temporary handlers for the signals that a run handles.
#pragma once

#include <array>
#include <csignal>

namespace dlc {

// Signals that end a run after a checkpoint. If several have arrived, the first
// one in this list is handled.
inline constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGXCPU, SIGHUP,
                                            SIGUSR2};
// Signal that makes a run write a checkpoint and continue.
inline constexpr int kSaveSignal = SIGUSR1;

inline constexpr std::array kRunSignals = {SIGINT, SIGTERM, SIGXCPU,
                                           SIGHUP, SIGUSR2, kSaveSignal};

// Blocks kSaveSignal for this thread, and for programs that it executes, until
// it is handled: it would end a process without a handler.
void holdSaveSignal();

// Handles kRunSignals while it exists; interrupted calls are restarted. Signals
// that were ignored at the start (as by nohup) stay ignored. One per process.
class SignalHandlers {
public:
  using Handler = void (*)(int signal, siginfo_t *info, void *context);

  explicit SignalHandlers(Handler handler);
  SignalHandlers(const SignalHandlers &) = delete;
  ~SignalHandlers() { restore(); }

  // Restores the earlier handlers; async-signal-safe, for a child process.
  void restore() const;

private:
  std::array<struct sigaction, kRunSignals.size()> before_;
};

// Makes writes to a closed pipe, or beyond the file size limit, fail with an
// error (EPIPE, EFBIG) instead of raising a signal. For programs: a library
// leaves this to its program.
void ignoreWriteSignals();

} // namespace dlc
