// SPDX-License-Identifier: Apache-2.0
// Counts allocations of this process while it is in scope. Those of oneDNN are
// told apart: it builds a small table of arguments at every call, which no
// interface of it avoids.
#pragma once

#include <cstddef>

namespace dlc::test {

class AllocationCounter {
public:
  AllocationCounter();
  ~AllocationCounter();

  static bool available(); // not in sanitizer builds
  long ours() const; // calls of malloc and its kin from anywhere but oneDNN
  size_t largestOfLibrary() const; // bytes
};

} // namespace dlc::test
