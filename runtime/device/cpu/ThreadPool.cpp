// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/ThreadPool.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/Parallel.h"

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <omp.h>
#include <pthread.h>

namespace dlc {
namespace {

// A fork() copies only the calling thread: its next parallel region would wait
// forever for the others of its pool, which therefore ends before each fork.
// The next region starts another one, in both processes.
[[maybe_unused]] const int poolEndsBeforeForks = ::pthread_atfork(
    [] { omp_pause_resource_all(omp_pause_soft); }, nullptr, nullptr);

} // namespace

Threads::Threads(int count) : count_(count > 0 ? count : coresOfProcess()) {}

Status Threads::check() const {
  return guarded(fmt::format("{} threads", count_), [this]() -> Status {
    std::promise<void> all;
    const std::shared_future<void> started = all.get_future().share();
    std::vector<std::jthread> threads; // they wait until all exist
    // In any case, they end before they are joined.
    const std::unique_ptr<std::promise<void>, void (*)(std::promise<void> *)>
        release(&all, [](std::promise<void> *p) { p->set_value(); });
    for (int i = 1; i < count_; ++i)
      threads.emplace_back([started] { started.wait(); });
    return {};
  });
}

void Threads::makeCurrent() const {
  omp_set_dynamic(0);
  omp_set_num_threads(count_);
}

// Always the whole team, even for fewer parts, as libgomp recreates its team
// when the size of a region changes.
void Threads::run(int parts, void (*fn)(void *, int), void *context) const {
#pragma omp parallel num_threads(count_)
  {
    const int stride = omp_get_num_threads();
    for (int index = omp_get_thread_num(); index < parts; index += stride)
      fn(context, index);
  }
}

} // namespace dlc
