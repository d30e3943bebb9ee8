// SPDX-License-Identifier: Apache-2.0
#include "runtime/python/Calls.h"

#include <cstring>
#include <unistd.h>

namespace nb = nanobind;

namespace dlc::python {
namespace {

// Calls what takes the GIL; does not return if that ends the thread.
template <class F> auto takingGil(F &&call) {
  try {
    return call();
  } catch (...) {
    for (;;)
      ::pause();
  }
}

} // namespace

PyGILState_STATE Gil::ensure() {
  return takingGil([] { return PyGILState_Ensure(); });
}

GilReleased::~GilReleased() {
  takingGil([this] { PyEval_RestoreThread(thread_); });
}

bool Interrupts::found() {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_ < 50ms)
    return any();
  asked_ = now;
  const Gil gil;
  if (PyErr_CheckSignals() != 0)
    thrown_ = std::make_exception_ptr(nb::python_error());
  return any();
}

nb::str textOf(const char *text) {
  return nb::steal<nb::str>(PyUnicode_DecodeUTF8(
      text, static_cast<Py_ssize_t>(std::strlen(text)), "replace"));
}

namespace {

void raise(const Error &error) {
  const nb::object classes = nb::module_::import_("dlc.errors").attr("BY_CODE");
  const nb::object found = classes[nb::int_(static_cast<int>(error.code()))];
  PyErr_SetObject(found.ptr(), textOf(error.what()).ptr());
}

void translate(const std::exception_ptr &thrown, void *) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error &error) {
    try {
      raise(error);
    } catch (nb::python_error &other) {
      other.restore();
    }
  }
}

// Receives messages; null: stderr. Written with the GIL held.
PyObject *listener = nullptr;

void tell(void *, dlc_level level, const char *line) {
  const Gil gil;
  if (!listener)
    return;
  try {
    nb::borrow<nb::object>(listener)(static_cast<int>(level), textOf(line));
  } catch (nb::python_error &error) {
    error.discard_as_unraisable("a listener of dlc's messages");
  }
}

void setLog(const nb::object &given) {
  PyObject *before = listener;
  listener = given.is_none() ? nullptr : nb::object(given).release().ptr();
  const bool listens = listener != nullptr;
  // A thread that logs holds the library's lock and waits for the GIL.
  released([&] { dlc_set_log(listens ? tell : nullptr, nullptr); });
  Py_XDECREF(before);
}

} // namespace

void bindErrors(nb::module_ &module) {
  nb::register_exception_translator(translate);
  module.def("set_log", setLog, nb::arg("listener").none());
}

} // namespace dlc::python
