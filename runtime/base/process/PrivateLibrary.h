// SPDX-License-Identifier: Apache-2.0
// A shared library whose code is private to this process: later changes of its
// file do not affect it.
#pragma once

#include "runtime/base/Status.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace dlc {

class PrivateLibrary {
public:
  // Where the copy may be: in sealed memory; or in an unnamed file in $TMPDIR
  // or /tmp, for systems that do not execute memory files.
  enum class Place { Memory, File };

  // From the library's bytes, at the first possible place. Its constructors
  // run. Errors name it as `name`: Corrupt if it is not a library, Failed if no
  // place can hold or execute it.
  static Result<PrivateLibrary> load(std::string_view bytes, std::string name,
                                     std::initializer_list<Place> places = {
                                         Place::Memory, Place::File});

  PrivateLibrary() = default;
  PrivateLibrary(PrivateLibrary &&other) noexcept { swap(other); }
  PrivateLibrary &operator=(PrivateLibrary &&other) noexcept {
    swap(other);
    return *this;
  }
  ~PrivateLibrary(); // nothing of it may still be in use

  explicit operator bool() const { return handle_ != nullptr; }
  void *find(const char *symbol) const; // null if missing
  const std::string &name() const { return name_; }

private:
  void swap(PrivateLibrary &other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(name_, other.name_);
  }

  void *handle_ = nullptr;
  // Kept open while the library is loaded, whose loader identifies it by this.
  int descriptor_ = -1;
  std::string name_;
};

} // namespace dlc
