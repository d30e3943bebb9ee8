// SPDX-License-Identifier: Apache-2.0
// A kernels.so as the compiler would make it, for the tests.
#include <cstdint>

extern "C" __attribute__((visibility("default"))) void
addInput(void *const *args, int64_t begin, int64_t end) {
  const float *x = static_cast<const float *>(args[0]);
  float *y = static_cast<float *>(args[1]);
  for (int64_t i = begin; i < end; ++i)
    y[i] += x[i];
}
