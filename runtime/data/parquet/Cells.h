// Memory for decoded numbers, or a file where there is not as much.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
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
  Cells(Cells &&other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Cells &operator=(Cells &&other) noexcept {
    std::swap(data_, other.data_), std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Cells();

  uint64_t *at(uint64_t index) const { return data_ + index; }

private:
  uint64_t *data_ = nullptr;
  uint64_t bytes_ = 0;
};

} // namespace dlc
