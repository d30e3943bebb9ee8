// SPDX-License-Identifier: Apache-2.0
// Bindings of a session.
#include "runtime/python/Bindings.h"
#include "runtime/python/Samples.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace dlc::python {
namespace {

// "float32 [48, 64]"
std::string textOf(const Tensor &tensor) {
  std::string sizes;
  for (const int64_t size : tensor.shape)
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  return std::string(nameOf(tensor.dtype)) + " [" + sizes + "]";
}

class LoadedModel {
  // For long calls, which Ctrl-C interrupts between batches.
  template <class F> auto interruptible(const Samples &samples, F &&call) {
    const InUse use(used_, "session");
    Interrupts interrupts;
    interrupts_ = &interrupts;
    try {
      auto found = samples.during([&] { return released(call); });
      interrupts_ = nullptr;
      return found;
    } catch (...) {
      interrupts_ = nullptr;
      interrupts.rethrow();
      throw;
    }
  }

public:
  LoadedModel(const std::string &path, const Options &options)
      : session_(released([&] { return Session::open(path, options); })),
        states_(session_->states()), inputs_(session_->inputs("train_step")) {
    session_->onBatch([this] { return !interrupts_ || !interrupts_->found(); });
  }

  ~LoadedModel() {
    released([&] { session_.reset(); });
  }

  nb::list inputs(const std::string &program) const {
    return describe(session_->inputs(program));
  }

  bool trainStep(const std::vector<nb::object> &arrays) {
    const InUse use(used_, "session");
    lenders_.clear();
    batch_.clear();
    for (size_t i = 0; i < arrays.size(); ++i)
      batch_.push_back(
          tensorOf(i < inputs_.size() ? inputs_[i].name : std::to_string(i),
                   arrays[i], lenders_));
    const bool updated = released([&] { return session_->trainStep(batch_); });
    lenders_.clear();
    return updated;
  }

  double metric(const std::string &name) const {
    return session_->metric(name);
  }

  std::tuple<double, std::optional<double>, int64_t>
  evaluate(const Samples &samples) {
    const auto found = interruptible(
        samples, [&] { return session_->evaluate(samples.dataset); });
    return {found.loss, found.accuracy, found.samples};
  }

  nb::dict predict(const Samples &samples) {
    const auto outputs = interruptible(
        samples, [&] { return session_->predict(samples.dataset); });
    nb::dict found;
    for (const Tensor &output : outputs)
      found[output.name.c_str()] = arrayOf(output);
    return found;
  }

  nb::list states() const { return describe(states_); }

  nb::object read(const std::string &name) {
    const InUse use(used_, "session");
    void *bytes = nullptr;
    for (const Tensor &state : states_)
      if (state.name == name) {
        nb::object made = newArray(state.dtype, state.shape, bytes);
        released([&] { session_->read(name, bytes, state.bytes); });
        return made;
      }
    session_->read(name, nullptr, 0); // reports the existing states
    return nb::none();
  }

  void write(const std::string &name, nb::handle array) {
    const InUse use(used_, "session");
    std::vector<Lender> lenders;
    const Tensor given = tensorOf(name, array, lenders);
    for (const Tensor &state : states_)
      if (state.name == name &&
          (state.dtype != given.dtype || state.shape != given.shape))
        throw Error(DLC_USAGE, "state '" + name + "' is " + textOf(state) +
                                   ", found " + textOf(given));
    released([&] { session_->write(name, given.data, given.bytes); });
  }

  void save(const std::string &path) {
    const InUse use(used_, "session");
    released([&] { session_->save(path); });
  }

  void load(const std::string &path) {
    const InUse use(used_, "session");
    released([&] { session_->load(path); });
  }

private:
  std::optional<Session> session_;            // destroyed without the GIL
  const std::vector<Tensor> states_, inputs_; // of train_step
  std::vector<Tensor> batch_;
  std::vector<Lender> lenders_; // own the arrays in batch_
  Interrupts *interrupts_ = nullptr;
  std::atomic<bool> used_ = false;
};

} // namespace

void bindSession(nb::module_ &module) {
  nb::class_<LoadedModel>(module, "Session")
      .def(nb::init<const std::string &, const Options &>(), nb::arg("path"),
           nb::arg("options"))
      .def("inputs", &LoadedModel::inputs, nb::arg("program"),
           nb::sig("def inputs(self, program: str) -> "
                   "list[tuple[str, str, tuple[int, ...]]]"))
      .def("train_step", &LoadedModel::trainStep, nb::arg("arrays"))
      .def("metric", &LoadedModel::metric, nb::arg("name"))
      .def("evaluate", &LoadedModel::evaluate, nb::arg("samples"))
      .def("predict", &LoadedModel::predict, nb::arg("samples"),
           nb::sig("def predict(self, samples: Dataset) -> dict[str, object]"))
      .def(
          "states", &LoadedModel::states,
          nb::sig("def states(self) -> list[tuple[str, str, tuple[int, ...]]]"))
      .def("read", &LoadedModel::read, nb::arg("name"))
      .def("write", &LoadedModel::write, nb::arg("name"), nb::arg("array"))
      .def("save", &LoadedModel::save, nb::arg("path"))
      .def("load", &LoadedModel::load, nb::arg("path"));
}

} // namespace dlc::python
