#include "runtime/device/cpu/Threads.h"

#include <omp.h>

namespace dlc {

Threads::Threads(int count) : count_(count > 0 ? count : omp_get_num_procs()) {}

void Threads::makeCurrent() const {
  omp_set_dynamic(0);
  omp_set_num_threads(count_);
}

// Always the whole team, even for fewer parts: libgomp rebuilds its team when
// the size of a region changes.
void Threads::run(int parts, void (*fn)(void *, int), void *context) const {
#pragma omp parallel num_threads(count_)
  {
    const int stride = omp_get_num_threads();
    for (int index = omp_get_thread_num(); index < parts; index += stride)
      fn(context, index);
  }
}

} // namespace dlc
