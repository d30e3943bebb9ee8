// SPDX-License-Identifier: Apache-2.0
// How calls into dlc are made: without the interpreter's lock, ended by Ctrl-C,
// their errors as exceptions of Python.
#pragma once

#include <dlc/dlc.hpp>
#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <exception>

namespace dlc::python {

// Without the interpreter's lock.
template <class F> decltype(auto) released(F &&call) {
  const nanobind::gil_scoped_release release;
  return call();
}

// Whether a signal's handler has raised, as that of Ctrl-C does. Asked by the
// thread of a call, without the lock; a question costs nothing most times.
class Interrupts {
public:
  bool found();
  // Raises in Python what the handler has raised.
  void rethrow() const {
    if (thrown_)
      std::rethrow_exception(thrown_);
  }
  bool any() const { return thrown_ != nullptr; }

private:
  std::chrono::steady_clock::time_point asked_ = {};
  std::exception_ptr thrown_;
};

// Marks an object as in use by one call, as long as this lives. DLC_USAGE if
// another thread, or a signal's handler, uses it.
class InUse {
public:
  InUse(std::atomic<bool> &used, const char *what) : used_(used) {
    if (used_.exchange(true))
      throw Error(DLC_USAGE, std::string("this ") + what +
                                 " is in use by another call: one thread at a "
                                 "time may use it");
  }
  ~InUse() { used_ = false; }
  InUse(const InUse &) = delete;
  InUse &operator=(const InUse &) = delete;

private:
  std::atomic<bool> &used_;
};

// Text of files and messages, which may be no UTF-8.
nanobind::str textOf(const char *text);

// dlc::Error as dlc.errors has its classes, and the library's messages.
void bindErrors(nanobind::module_ &module);

} // namespace dlc::python
