// SPDX-License-Identifier: Apache-2.0
// Where exceptions end. Every function of the public API, every thread and
// every program has one boundary: what is thrown below it becomes a Status.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <new>
#include <type_traits>

namespace dlc {

// A failed allocation that knows its size. dlc's programs throw it; in a
// program that embeds the library it is that program's std::bad_alloc.
class OutOfMemory : public std::bad_alloc {
public:
  explicit OutOfMemory(size_t bytes) : bytes_(bytes) {}
  size_t bytes() const { return bytes_; }
  const char *what() const noexcept override { return "out of memory"; }

private:
  size_t bytes_;
};

// In a catch (...): the exception as a Status "doing: what happened".
// Code::Limit for memory, sizes that no memory has, and threads, files or pages
// that the system has no more of; `other` for anything else. Never throws: with
// no memory for a message it is a short one.
Status caughtException(std::string_view doing,
                       Code other = Code::Failed) noexcept;

// body()'s Status or Result, or that of what it throws. `doing` is evaluated
// before: a name, or what was asked for.
template <class F>
std::invoke_result_t<F &> guarded(std::string_view doing, F &&body) {
  try {
    return body();
  } catch (...) {
    return caughtException(doing);
  }
}

} // namespace dlc
