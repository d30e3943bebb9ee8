// SPDX-License-Identifier: Apache-2.0
// Calls into dlc: without the GIL, interruptible by Ctrl-C, and with errors as
// Python exceptions.
#pragma once

#include <dlc/dlc.hpp>
#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <exception>

namespace dlc::python {

// The GIL, held or released during an object's lifetime. When the interpreter
// ends, it ends threads that wait for the GIL, by pthread_exit before Python
// 3.14, which must not unwind C++: here they wait for the end of the process.
class Gil {
public:
  Gil() : state_(ensure()) {}
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil &) = delete;
  Gil &operator=(const Gil &) = delete;

private:
  static PyGILState_STATE ensure();

  const PyGILState_STATE state_;
};
class GilReleased {
public:
  GilReleased() : thread_(PyEval_SaveThread()) {}
  ~GilReleased();
  GilReleased(const GilReleased &) = delete;
  GilReleased &operator=(const GilReleased &) = delete;

private:
  PyThreadState *const thread_;
};

// Calls a function without the GIL.
template <class F> decltype(auto) released(F &&call) {
  const GilReleased release;
  return call();
}

// Whether a signal handler has raised, such as that of Ctrl-C. Polled by the
// calling thread without the GIL, usually at no cost.
class Interrupts {
public:
  bool found();
  // Raises the handler's exception in Python.
  void rethrow() const {
    if (thrown_)
      std::rethrow_exception(thrown_);
  }
  bool any() const { return thrown_ != nullptr; }

private:
  std::chrono::steady_clock::time_point asked_ = {};
  std::exception_ptr thrown_;
};

// Marks an object as in use during its lifetime. DLC_USAGE if another thread,
// or a signal handler, uses the object.
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

// Converts text of files and messages, which may be invalid UTF-8.
nanobind::str textOf(const char *text);

// Defines dlc::Error with the classes of dlc.errors, and the message listener.
void bindErrors(nanobind::module_ &module);

} // namespace dlc::python
