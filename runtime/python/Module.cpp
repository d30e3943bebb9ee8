// SPDX-License-Identifier: Apache-2.0
// dlc._dlc: bindings of the C++ interface (runtime/api/dlc/dlc.hpp), on which
// the package's public classes are built.
#include "runtime/python/Bindings.h"
#include "runtime/python/Samples.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace dlc::python;

namespace {

// The compiler is a separate process that receives Ctrl-C itself. Its exit is
// then an error, which the signal handler's exception replaces.
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
  // A traceback of a failed program keeps objects alive until exit.
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
  // Address of an array's memory, for arrays that dlc accepts. Internal.
  module.def(
      "address",
      [](nb::handle array) {
        std::vector<Lender> lenders;
        return reinterpret_cast<uintptr_t>(
            tensorOf("array", array, lenders).data);
      },
      nb::arg("array"));
}
