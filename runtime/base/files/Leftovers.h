// SPDX-License-Identifier: Apache-2.0
// Temporary files to remove when a program cannot unwind its stack (LLVM is
// built without exceptions).
#pragma once

#include <string>
#include <utility>

namespace dlc {

// Keeps a temporary file or folder on the list; safe from any thread.
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

  // Called when it was removed, or became the final file.
  void forget() noexcept;

private:
  const std::string *path_ = nullptr; // an entry of the list
};

// Removes the listed files without allocating memory, for a process that is
// about to end: nothing may use the files afterwards.
void removeLeftovers() noexcept;

} // namespace dlc
