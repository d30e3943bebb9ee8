// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/Signals.h"

#include "runtime/base/options/Environment.h"

#include <algorithm>
#include <atomic>
#include <unistd.h>

namespace dlc {
namespace {

std::atomic<bool> caught[kStopSignals.size()], save;
std::atomic<int> interrupts[2]; // by sender: this one's parent, others
std::atomic<bool> isRank;

void remember(int signal, siginfo_t *info, void *) {
  if (signal == kSaveSignal)
    save = true;
  for (size_t i = 0; i < kStopSignals.size(); ++i)
    if (signal == kStopSignals[i])
      caught[i] = true;
  if (signal != SIGINT)
    return;
  const bool passedOn = isRank && info->si_pid == ::getppid();
  if (++interrupts[passedOn ? 0 : 1] > 1)
    ::_exit(128 + SIGINT);
}

SignalHandlers::Handler begin() {
  for (auto &stop : caught)
    stop = false;
  save = false;
  for (auto &count : interrupts)
    count = 0;
  isRank = environment::isRank();
  return remember;
}

} // namespace

RunSignals::RunSignals() : handlers_(begin()) {}

SignalRequest RunSignals::take() {
  SignalRequest request;
  request.save = save.exchange(false);
  const auto first = std::find(std::begin(caught), std::end(caught), true);
  if (first != std::end(caught))
    request.stop = kStopSignals[size_t(first - caught)];
  return request;
}

SignalRequest RunSignals::takeSoon() {
  constexpr int kTurns = 100; // of 10 ms each
  for (int i = 0;
       i < kTurns && !std::count(std::begin(caught), std::end(caught), true);
       ++i)
    ::usleep(10'000);
  return take();
}

} // namespace dlc
