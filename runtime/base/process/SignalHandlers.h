// SPDX-License-Identifier: Apache-2.0
// The signals that a run knows, handled for a while.
#pragma once

#include <array>
#include <csignal>

namespace dlc {

// A run ends after a checkpoint. When several have come the first of this list
// counts.
inline constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGXCPU, SIGHUP,
                                            SIGUSR2};
// It writes a checkpoint and goes on.
inline constexpr int kSaveSignal = SIGUSR1;

inline constexpr std::array kRunSignals = {SIGINT, SIGTERM, SIGXCPU,
                                           SIGHUP, SIGUSR2, kSaveSignal};

// kSaveSignal is kept for this thread, and for programs that it becomes, until
// it is handled: it would end a process that is not ready for it.
void holdSaveSignal();

// Handles kRunSignals while it lives; calls go on after them. What this process
// was started to ignore (as by nohup) stays ignored. One at a time a process.
class SignalHandlers {
public:
  using Handler = void (*)(int signal, siginfo_t *info, void *context);

  explicit SignalHandlers(Handler handler);
  SignalHandlers(const SignalHandlers &) = delete;
  ~SignalHandlers() { restore(); }

  // The earlier handlers come back; async-signal-safe, for a child process.
  void restore() const;

private:
  std::array<struct sigaction, kRunSignals.size()> before_;
};

// Writing to a closed pipe, and beyond the limit of a file's size, are errors
// of the write (EPIPE, EFBIG) instead of the process's end. For programs: a
// library leaves that to the program that it is in.
void ignoreWriteSignals();

} // namespace dlc
