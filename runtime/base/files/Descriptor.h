// SPDX-License-Identifier: Apache-2.0
// An open file of the system, or none.
#pragma once

#include <utility>

#include <unistd.h>

namespace dlc {

class Descriptor {
public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor &&other) noexcept
      : number_(std::exchange(other.number_, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  // Whether it was open and the system reported no error.
  bool close() {
    const int number = std::exchange(number_, -1);
    return number >= 0 && ::close(number) == 0;
  }

private:
  int number_ = -1;
};

} // namespace dlc
