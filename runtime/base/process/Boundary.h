// SPDX-License-Identifier: Apache-2.0
// Exception boundaries. Every function of the public API, every thread and
// every program has one boundary, where exceptions become a Status.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <new>
#include <type_traits>

namespace dlc {

// A failed allocation with its size. dlc's programs throw it; a program that
// embeds the library throws its own std::bad_alloc.
class OutOfMemory : public std::bad_alloc {
public:
  explicit OutOfMemory(size_t bytes) : bytes_(bytes) {}
  size_t bytes() const { return bytes_; }
  const char *what() const noexcept override { return "out of memory"; }

private:
  size_t bytes_;
};

// In a catch (...): the exception as a Status "doing: what happened".
// Code::Limit for exhausted memory, impossible sizes, and exhausted threads,
// files or pages; `other` for anything else. Never throws: without memory for a
// message the message is short.
Status caughtException(std::string_view doing,
                       Code other = Code::Failed) noexcept;

// body()'s Status or Result, or that of its exception. `doing` is evaluated
// before: a name, or the task.
template <class F>
std::invoke_result_t<F &> guarded(std::string_view doing, F &&body) {
  try {
    return body();
  } catch (...) {
    return caughtException(doing);
  }
}

} // namespace dlc
