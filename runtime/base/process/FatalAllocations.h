// SPDX-License-Identifier: Apache-2.0
// Protection for libraries that do not survive a failed allocation: they write
// to null or free memory twice.
#pragma once

namespace dlc {

// While one exists, a failed allocation of this thread ends dlc's programs with
// a message and exit code 6. A program that embeds the library is not affected.
class FatalAllocations {
public:
  FatalAllocations() noexcept;
  ~FatalAllocations();
  FatalAllocations(const FatalAllocations &) = delete;
  FatalAllocations &operator=(const FatalAllocations &) = delete;

  static bool here() noexcept; // for this thread; does not allocate
};

} // namespace dlc
