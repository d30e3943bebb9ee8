// SPDX-License-Identifier: Apache-2.0
// What an orderly end removes, for an end that is not: a program that cannot
// unwind its stack (LLVM is built without exceptions) removes it by this list.
#pragma once

#include <string>
#include <utility>

namespace dlc {

// Holds a temporary file or folder on the list; safe from any thread.
class Leftover {
public:
  Leftover() = default;
  explicit Leftover(std::string path);
  Leftover(Leftover &&other) noexcept
      : path_(std::exchange(other.path_, nullptr)) {}
  Leftover &operator=(Leftover &&other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~Leftover() { forget(); }

  // It is gone, or has become what was to be made.
  void forget() noexcept;

private:
  const std::string *path_ = nullptr; // an entry of the list
};

// Removes what is on the list, without any memory. For a process that ends now:
// nothing may use these files any more.
void removeLeftovers() noexcept;

} // namespace dlc
