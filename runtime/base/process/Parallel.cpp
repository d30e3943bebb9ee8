// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/process/Parallel.h"

#include "runtime/base/process/Granted.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <sched.h>

namespace dlc {
namespace {

class Team {
public:
  explicit Team(const std::function<void()> &work) : work_(work) {}
  ~Team() { join(); }

  void start(size_t count) {
    threads_.reserve(count);
    try {
      while (threads_.size() < count)
        threads_.emplace_back([this] { run(); });
    } catch (const std::system_error &) { // existing threads do the work
    }
  }

  void run() {
    try {
      work_();
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!error_)
        error_ = std::current_exception();
    }
  }

  void join() {
    for (std::thread &thread : threads_)
      thread.join();
    threads_.clear();
  }

  const std::exception_ptr &error() const { return error_; }

private:
  const std::function<void()> &work_;
  std::mutex mutex_;
  std::exception_ptr error_;
  std::vector<std::thread> threads_; // last, as they use the others
};

} // namespace

void runTogether(size_t count, const std::function<void()> &work) {
  Team team(work);
  team.start(count > 0 ? count - 1 : 0);
  team.run();
  team.join();
  if (team.error())
    std::rethrow_exception(team.error());
}

int coresWithin(int allowed, std::optional<double> granted) {
  constexpr double kRounded = 0.01; // 2.999 cores count as three
  const double least = std::min<double>(allowed, granted.value_or(allowed));
  return std::max(1, int(least + kRounded));
}

int coresOfProcess() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int allowed =
      ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return coresWithin(allowed, quotaOfProcess());
}

} // namespace dlc
