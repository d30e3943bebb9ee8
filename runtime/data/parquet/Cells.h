// SPDX-License-Identifier: Apache-2.0
// Memory for decoded numbers, or a file where there is not as much.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace dlc {

// 64 bits each, of which any thread may write its own and, when all are
// written, read any.
class Cells {
public:
  // In memory if they take at most `held` bytes, else in a file in TMPDIR that
  // has no name and so is gone with its process. Errors: too little of either.
  static Result<Cells> make(uint64_t count, uint64_t held);

  Cells() = default;
  Cells(Cells &&other) noexcept { *this = std::move(other); }
  Cells &operator=(Cells &&other) noexcept {
    std::swap(data_, other.data_), std::swap(bytes_, other.bytes_);
    std::swap(isInFile_, other.isInFile_);
    return *this;
  }
  ~Cells();

  uint64_t *at(uint64_t index) const { return data_ + index; }
  // What is not needed soon counts no longer as this process's memory, if it is
  // in a file. A hint.
  void release(std::span<const std::byte> some) const;

private:
  uint64_t *data_ = nullptr;
  uint64_t bytes_ = 0;
  bool isInFile_ = false;
};

} // namespace dlc
