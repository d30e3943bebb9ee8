// SPDX-License-Identifier: Apache-2.0
// A shared library whose code is this process's alone: what happens to the file
// that it was read from, or is put in its place, does not reach it.
#pragma once

#include "runtime/base/Status.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace dlc {

class PrivateLibrary {
public:
  // Where the copy may lie: in memory, sealed; in a file without a name in
  // $TMPDIR or /tmp, for where the system runs nothing that lies in memory.
  enum class Place { Memory, File };

  // From the library's bytes, in the first place that will do. Its constructors
  // run. Errors name it as `name`: Corrupt if it is no library, Failed if no
  // place would hold it or let it run.
  static Result<PrivateLibrary> load(std::string_view bytes, std::string name,
                                     std::initializer_list<Place> places = {
                                         Place::Memory, Place::File});

  PrivateLibrary() = default;
  PrivateLibrary(PrivateLibrary &&other) noexcept { swap(other); }
  PrivateLibrary &operator=(PrivateLibrary &&other) noexcept {
    swap(other);
    return *this;
  }
  ~PrivateLibrary(); // nothing of it may be in use

  explicit operator bool() const { return handle_ != nullptr; }
  void *find(const char *symbol) const; // null if it has none
  const std::string &name() const { return name_; }

private:
  void swap(PrivateLibrary &other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(name_, other.name_);
  }

  void *handle_ = nullptr;
  // Open as long as the library is: by its number the loader knows it.
  int descriptor_ = -1;
  std::string name_;
};

} // namespace dlc
