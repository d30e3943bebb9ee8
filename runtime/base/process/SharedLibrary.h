// SPDX-License-Identifier: Apache-2.0
// Libraries opened at run time, so that one binary works without them and can
// name the missing ones.
#pragma once

#include "runtime/base/Status.h"

#include <initializer_list>
#include <string>

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

} // namespace dlc
