// SPDX-License-Identifier: Apache-2.0
// What the libraries of HostKernels.h call when the stand-in driver runs a
// kernel. Rows of tables end with one of zeros.
#include "Grid.h"
#include "test/pretend/libraries/Standin.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace dlc;
using namespace dlc::test;

namespace {

struct Argument {
  int64_t kind;   // 1: read, 2: written; 3, 4: so many elements of it as the
                  // parameter behind all arguments says
  uint64_t bytes; // of all, or of one of these elements
};

/// DLC_STANDIN_SEED: 1 or nothing is forward.
unsigned seed() {
  const char *text = std::getenv("DLC_STANDIN_SEED");
  return text ? static_cast<unsigned>(std::atoi(text)) : 1;
}
Order order() {
  return seed() == 1       ? Order::Forward
         : seed() % 2 == 0 ? Order::Reverse
                           : Order::Random;
}

} // namespace

extern "C" {
void gpu_launch(const standin::Launch *launch, const char *kernel,
                void (*entry)(void **), const SharedArray *shared) {
  // An entry wants the values of parameters, which are pointers.
  std::vector<void *> values;
  for (void **parameter = launch->parameters; *parameter; ++parameter)
    values.push_back(*static_cast<void **>(*parameter));
  size_t arrays = 0;
  while (shared[arrays].data)
    ++arrays;
  const std::string error =
      runGrid(kernel, launch->grid[0], launch->block[0], {shared, arrays},
              order(), seed(), [&] { entry(values.data()); });
  if (error.empty())
    return;
  std::fprintf(stderr, "stand-in: %s\n", error.c_str());
  std::abort(); // the kernel is wrong, and no test may go on
}

void gpu_accesses(const standin::Launch *launch, void *context,
                  void (*sink)(void *, standin::Access),
                  const Argument *arguments) {
  int count = 0;
  while (arguments[count].kind)
    ++count;
  for (int i = 0; i < count; ++i) {
    const auto [kind, bytes] = arguments[i];
    const uint64_t elements =
        kind > 2 ? *static_cast<uint64_t *>(launch->parameters[count]) : 1;
    if (elements) // a rank may have no part, which is nowhere
      sink(context, {*static_cast<void **>(launch->parameters[i]),
                     bytes * elements, kind % 2 == 0});
  }
}
}
