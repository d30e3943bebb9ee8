// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/LocalRanks.h"

#include "runtime/base/process/Log.h"
#include "runtime/base/process/RunningClock.h"
#include "runtime/collective/Launcher.h"
#include "runtime/collective/Socket.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dlc {

using Clock = RunningClock;

// Time for ranks to end by themselves after one has failed, and after one has
// waited in vain for another.
constexpr std::chrono::milliseconds kGrace{3000}, kSilentGrace{300};
constexpr int kPeerLost = static_cast<int>(Code::PeerLost);

// Indexed like kRunSignals; nonzero: received.
static std::atomic<int> caught[kRunSignals.size()];
static std::atomic<int> interrupts;

void LocalRanks::remember(int signal, siginfo_t *, void *) {
  interrupts += signal == SIGINT;
  for (size_t i = 0; i < kRunSignals.size(); ++i)
    caught[i] += signal == kRunSignals[i];
}

static bool isStopped(pid_t process) {
  siginfo_t found{};
  return ::waitid(P_PID, static_cast<id_t>(process), &found,
                  WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         found.si_pid == process;
}

// Whether a child ended because of the forwarded signal: before a run begins it
// has no handler; afterwards it exits with the shell's code.
bool LocalRanks::endedAsAsked(const Child &child) const {
  if (!asked_ || child.running)
    return false;
  return WIFSIGNALED(child.status) ? WTERMSIG(child.status) == asked_
                                   : WEXITSTATUS(child.status) == 128 + asked_;
}

// Whether it ended without an error, or a run by the forwarded signal: others
// may still save, or wait for the program of --after-save.
bool LocalRanks::endedWell(const Child &child) const {
  return !child.running && (child.status == 0 ||
                            (WIFEXITED(child.status) && endedAsAsked(child)));
}

// Whether it was killed by another process, or ended with its own error.
bool LocalRanks::failedItself(const Child &child) const {
  if (child.running || child.ended || endedAsAsked(child))
    return false;
  return !WIFEXITED(child.status) || (WEXITSTATUS(child.status) != 0 &&
                                      WEXITSTATUS(child.status) != kPeerLost);
}

LocalRanks::~LocalRanks() {
  killAll(SIGKILL);
  while (running() > 0)
    reap(0);
}

Status LocalRanks::start(const std::vector<std::string> &arguments) {
  // A signal between fork and exec must not be lost.
  sigset_t signals, before;
  sigemptyset(&signals);
  for (int signal : kRunSignals)
    sigaddset(&signals, signal);
  DLC_ASSIGN(meeting_, meetHere(static_cast<int>(places_.size())));
  const Socket listener(meeting_.listener); // afterwards only rank 0 has it
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  const Status started = startAll(before, arguments);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

Status LocalRanks::startAll(const sigset_t &mask,
                            const std::vector<std::string> &arguments) {
  pid_t parent = ::getpid();
  for (size_t rank = 0; rank < places_.size(); ++rank) {
    pid_t process = ::fork();
    if (process < 0)
      return failed("cannot start rank {}: {}", rank, std::strerror(errno));
    if (process == 0)
      become(rank, parent, mask, arguments);
    children_.push_back({process});
  }
  return {};
}

Ending LocalRanks::wait() {
  std::optional<Clock::time_point> deadline, lastEnd;
  while (running() > 0) {
    passSignalsOn();
    reap(WNOHANG);
    if (!anyFailed()) {
      deadline.reset(); // the forwarded signal may have been noticed late
    } else if (!deadline || (patient_ && !isPatient())) {
      patient_ = isPatient();
      deadline = Clock::now() + grace();
    }
    if (deadline && Clock::now() > *deadline)
      killAll(SIGKILL), killed_ = true;
    if (!lastEnd && anyEndedWell())
      lastEnd = Clock::now() + patience_;
    if (lastEnd && Clock::now() > *lastEnd)
      endLateOnes();
    ::usleep(5000);
  }
  return ending();
}

// Kills ranks that still run long after another ended: no rank waits for them,
// and no store would report them lost.
void LocalRanks::endLateOnes() {
  for (size_t rank = 0; rank < children_.size(); ++rank) {
    Child &child = children_[rank];
    if (!child.running || child.late ||
        (rank == 0 && !isStopped(child.process)))
      continue;
    logError(fmt::format("rank {} (process {}) does not end: another rank "
                         "ended without an error {} s ago",
                         rank, child.process, patience_.count() / 1000.0));
    child.late = true;
    ::kill(child.process, SIGKILL);
  }
}

void LocalRanks::passSignalsOn() {
  for (size_t i = 0; i < kRunSignals.size(); ++i) {
    if (caught[i].exchange(0) == 0)
      continue;
    killAll(kRunSignals[i]);
    if (kRunSignals[i] != kSaveSignal && !asked_)
      asked_ = kRunSignals[i];
  }
  if (interrupts < 2)
    return;
  asked_ = SIGINT;
  killed_ = true;
  killAll(SIGKILL);
}

// Runs in the child: sets the environment and executes the program again.
void LocalRanks::become(size_t rank, pid_t parent, const sigset_t &mask,
                        const std::vector<std::string> &arguments) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent)
    ::_exit(1);
  signals_.restore();
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  holdSaveSignal();
  ::setenv("RANK", std::to_string(rank).c_str(), 1);
  ::setenv("LOCAL_RANK", std::to_string(places_[rank]).c_str(), 1);
  const std::string count = std::to_string(places_.size());
  ::setenv("WORLD_SIZE", count.c_str(), 1);
  ::setenv("LOCAL_WORLD_SIZE", count.c_str(), 1);
  ::setenv("DLC_RENDEZVOUS",
           fmt::format("{}:{}", meeting_.address, meeting_.port).c_str(), 1);
  ::setenv("DLC_JOB_TOKEN", meeting_.token.c_str(), 1);
  ::unsetenv("DLC_JOB_LISTENER");
  if (rank == 0) {
    ::setenv("DLC_JOB_LISTENER", std::to_string(meeting_.listener).c_str(), 1);
    ::fcntl(meeting_.listener, F_SETFD, 0);
  }
  std::vector<char *> words;
  for (const std::string &word : arguments)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  ::execv("/proc/self/exe", words.data());
  ::_exit(127);
}

int LocalRanks::running() const {
  int count = 0;
  for (const Child &child : children_)
    count += child.running;
  return count;
}

void LocalRanks::killAll(int signal) {
  for (const Child &child : children_)
    if (child.running)
      ::kill(child.process, signal);
}

void LocalRanks::reap(int options) {
  for (size_t rank = 0; rank < children_.size(); ++rank) {
    Child &child = children_[rank];
    if (!child.running ||
        ::waitpid(child.process, &child.status, options) != child.process)
      continue;
    child.running = false;
    if (!WIFSIGNALED(child.status))
      continue;
    child.ended = killed_ || child.late;
    child.silent = (killed_ && patient_) || child.late;
    if (!child.ended && !endedAsAsked(child))
      reportDeath(rank, WTERMSIG(child.status));
  }
}

void LocalRanks::reportDeath(size_t rank, int signal) {
  dead_ = true;
  logError(fmt::format("rank {} (process {}) was ended by signal {} ({})", rank,
                       children_[rank].process, signal, ::strsignal(signal)));
}

// Whether silent ranks are the ones to blame: others have lost them, and none
// is known to have failed. Else it does not matter which end by themselves.
bool LocalRanks::isPatient() const {
  return goesOn_ && !asked_ && !jobNote().empty() &&
         std::none_of(
             children_.begin(), children_.end(),
             [this](const Child &child) { return failedItself(child); });
}

std::chrono::milliseconds LocalRanks::grace() const {
  if (patient_)
    return patience_;
  return anyFailed(kPeerLost) ? kSilentGrace : kGrace;
}

// With this exit code; 0: with any error.
bool LocalRanks::anyFailed(int code) const {
  for (const Child &child : children_)
    if (!child.running && !endedWell(child) &&
        (code == 0 ||
         (WIFEXITED(child.status) && WEXITSTATUS(child.status) == code)))
      return true;
  return false;
}

bool LocalRanks::anyEndedWell() const {
  return std::any_of(children_.begin(), children_.end(),
                     [this](const Child &child) { return endedWell(child); });
}

// The exit code. A rank that lost a peer is no cause if another failed itself.
int LocalRanks::verdict() const {
  if (asked_ && killed_ && interrupts > 1)
    return 128 + SIGINT;
  if (dead_)
    return kPeerLost;
  const bool obeyed =
      std::any_of(children_.begin(), children_.end(),
                  [this](const Child &child) { return endedAsAsked(child); });
  int code = 0;
  for (const Child &child : children_) {
    int own = WIFEXITED(child.status) ? WEXITSTATUS(child.status) : kPeerLost;
    if (obeyed && (own == kPeerLost || endedAsAsked(child)))
      own = 128 + asked_; // it lost a rank that the signal ended
    if (own != 0 && (code == 0 || code == kPeerLost))
      code = own;
  }
  return code;
}

Ending LocalRanks::ending() const {
  Ending ending;
  ending.code = verdict();
  ending.asked = asked_;
  // An error on which all ranks agree is not caused by one rank.
  const bool agreed = !dead_ && !killed_ && !anyFailed(kPeerLost);
  for (size_t rank = 0; rank < children_.size(); ++rank)
    if (!agreed && (failedItself(children_[rank]) || children_[rank].silent))
      ending.lost.push_back(rank);
    else
      ending.left.push_back(places_[rank]);
  ending.split = anyFailed(kPeerLost) || !ending.lost.empty();
  return ending;
}

} // namespace dlc
