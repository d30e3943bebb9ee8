// SPDX-License-Identifier: Apache-2.0
// dlc._dlc: the C++ interface (runtime/api/dlc/dlc.hpp) for Python. What people
// use is the package's classes, which are written over it.
#include "runtime/python/Bindings.h"
#include "runtime/python/Samples.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace dlc::python;

namespace {

// The compiler is a process of its own; it gets Ctrl-C itself, and its end is
// then an error, instead of which the signal's handler has its say.
template <class F> void runCompiler(F &&call) {
  try {
    released(call);
  } catch (const dlc::Error &) {
    if (PyErr_CheckSignals() != 0)
      throw nb::python_error();
    throw;
  }
}

} // namespace

NB_MODULE(_dlc, module) {
  // What a failed program's traceback holds lives to the end.
  nb::set_leak_warnings(false);
  bindErrors(module);
  bindSamples(module);
  bindSession(module);
  bindTrainer(module);
  module.def("version", &dlc::version);
  module.def(
      "compile",
      [](const std::string &model, const std::string &artifact,
         const dlc::Options &options) {
        runCompiler([&] { dlc::compile(model, artifact, options); });
      },
      nb::arg("model"), nb::arg("artifact"), nb::arg("options"));
  module.def(
      "export_onnx",
      [](const std::string &model, const std::string &file,
         const dlc::Options &options) {
        runCompiler([&] { dlc::exportOnnx(model, file, options); });
      },
      nb::arg("model"), nb::arg("file"), nb::arg("options"));
  // Where an array that dlc takes lies: what a call reads, and nothing else.
  module.def(
      "address",
      [](nb::handle array) {
        std::vector<Lender> lenders;
        return reinterpret_cast<uintptr_t>(
            tensorOf("array", array, lenders).data);
      },
      nb::arg("array"));
}
