// SPDX-License-Identifier: Apache-2.0
// Libraries opened at run time, so that one binary works without them and can
// name the missing ones.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/files/Descriptor.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlc {

// Stays open until the process ends: vendors' libraries have threads and exit
// handlers that do not survive unloading.
class SharedLibrary {
public:
  // The first of `names` that the dynamic loader finds. Incompatible, with the
  // loader's message for each name and `purpose` ("needed to run on GPUs").
  static Result<SharedLibrary> open(std::initializer_list<const char *> names,
                                    const char *purpose);

  void *find(const char *symbol) const; // null if missing

  // Stores the function's address in `function`; Incompatible, naming the
  // library, the function, its version `found` and the oldest `expected`
  // version, if the library lacks it.
  template <class F>
  Status bind(F &function, const char *symbol, const std::string &found,
              const std::string &expected) const {
    function = reinterpret_cast<F>(find(symbol));
    return function ? Status() : missing(symbol, found, expected);
  }
  Status missing(const char *symbol, const std::string &found,
                 const std::string &expected) const;

  const std::string &path() const { return path_; } // of the file
  void *handle() const { return handle_; }          // of dlopen

private:
  SharedLibrary(void *handle, std::string path)
      : handle_(handle), path_(std::move(path)) {}

  void *handle_;
  std::string path_;
};

// A shared library whose code is private to this process: later changes of its
// file do not affect it.

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
  PrivateLibrary(PrivateLibrary &&other) noexcept { *this = std::move(other); }
  PrivateLibrary &operator=(PrivateLibrary &&other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(file_, other.file_);
    std::swap(name_, other.name_);
    return *this;
  }
  ~PrivateLibrary(); // nothing of it may still be in use

  explicit operator bool() const { return handle_ != nullptr; }
  void *find(const char *symbol) const; // null if missing
  const std::string &name() const { return name_; }

private:
  void *handle_ = nullptr;
  // Kept open while the library is loaded, whose loader identifies it by this.
  Descriptor file_;
  std::string name_;
};

} // namespace dlc
