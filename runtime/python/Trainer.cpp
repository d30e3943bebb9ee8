// SPDX-License-Identifier: Apache-2.0
// A training run with Python callbacks.
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

template <class Event> nb::dict valuesOf(const Event &event) {
  nb::dict values;
  for (size_t i = 0; i < event.count; ++i)
    values[event.names[i]] = event.values[i];
  return values;
}

class TrainingRun {
  template <class F> auto during(F &&call) {
    const auto withTrain = [&] {
      return train_ ? train_->during(call) : call();
    };
    return val_ ? val_->during(withTrain) : withTrain();
  }

public:
  TrainingRun(const std::optional<std::string> &model, const Samples *train,
              const Samples *val, const Options &options, nb::object onStep,
              nb::object onEpoch)
      : train_(train), val_(val), onStep_(std::move(onStep)),
        onEpoch_(std::move(onEpoch)), trainer_(during([&] {
          return released([&] { return open(model, options); });
        })) {}

  // Releases the GIL, for which threads that make batches may wait.
  ~TrainingRun() {
    released([&] { trainer_.reset(); });
  }

  std::tuple<std::string, int64_t, bool, int> run() {
    const InUse use(used_, "trainer");
    interrupts_ = {};
    const Run run =
        during([&] { return released([&] { return trainer_->run(); }); });
    interrupts_.rethrow(); // the run has ended with a checkpoint
    return {run.folder, run.steps, run.stopped, run.signal};
  }

  void stop() { stops_ = true; }

private:
  Trainer open(const std::optional<std::string> &model,
               const Options &options) {
    Callbacks callbacks{[this](const dlc_step &s) { return step(s); },
                        [this](const dlc_epoch &e) { return epoch(e); }};
    const Dataset *train = train_ ? &train_->dataset : nullptr;
    const Dataset *val = val_ ? &val_->dataset : nullptr;
    return Trainer::make(model ? &*model : nullptr, train, val, options,
                         std::move(callbacks));
  }

  bool goesOn() { return !stops_ && !interrupts_.found(); }

  // A callback's result: only False ends the run.
  static bool isFalse(const nb::object &answer) {
    return answer.ptr() == Py_False;
  }

  bool step(const dlc_step &s) {
    if (!goesOn())
      return false;
    if (!hasOnStep_)
      return true;
    const Gil gil;
    return !isFalse(onStep_(s.step, s.steps, s.epoch, s.samples_per_second,
                            valuesOf(s))) &&
           !stops_;
  }

  bool epoch(const dlc_epoch &e) {
    if (!goesOn())
      return false;
    if (!hasOnEpoch_)
      return true;
    const Gil gil;
    return !isFalse(onEpoch_(e.epoch, e.step, valuesOf(e))) && !stops_;
  }

  const Samples *train_, *val_; // kept alive by the Python object
  nb::object onStep_, onEpoch_;
  const bool hasOnStep_ = !onStep_.is_none(), hasOnEpoch_ = !onEpoch_.is_none();
  Interrupts interrupts_;
  std::atomic<bool> stops_ = false, used_ = false;
  std::optional<Trainer> trainer_;
};

} // namespace

void bindTrainer(nb::module_ &module) {
  nb::class_<TrainingRun>(module, "Trainer")
      .def(nb::init<const std::optional<std::string> &, const Samples *,
                    const Samples *, const Options &, nb::object, nb::object>(),
           nb::arg("model").none(), nb::arg("train").none(),
           nb::arg("val").none(), nb::arg("options"), nb::arg("on_step").none(),
           nb::arg("on_epoch").none(), nb::keep_alive<1, 3>(),
           nb::keep_alive<1, 4>())
      .def("run", &TrainingRun::run)
      .def("stop", &TrainingRun::stop);
}

} // namespace dlc::python
