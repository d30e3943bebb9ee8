// SPDX-License-Identifier: Apache-2.0
// dlc for C++17 and later: dlc.h with classes. All of it is in this header, and
// what it calls is C: programs and library need not have the same compiler or
// standard library.
//
//   #include <dlc/dlc.hpp>
//
//   int main() {
//     auto trainer = dlc::Trainer::open("lenet.dlc", {{"data", "train.npz"},
//                                                     {"epochs", "3"}});
//     auto run = trainer.run();
//     auto session = dlc::Session::open(run.folder);
//     auto result = session.evaluate(dlc::Dataset::open("test.npz"));
//     std::cout << run.steps << " steps, loss " << result.loss << "\n";
//   }
//
// Errors are exceptions: dlc::Error, with a code and the message. Objects own
// what they stand for, move, and are used by one thread at a time.
#pragma once

#include "dlc/compile.h"
#include "dlc/dlc.h"

#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dlc {
// The library has classes of the same names inside.
inline namespace api_v1 {

class Error : public std::runtime_error {
public:
  Error(dlc_code code, const std::string &message)
      : std::runtime_error(message), code_(code) {}
  dlc_code code() const { return code_; }

private:
  dlc_code code_;
};

// Throws the error of the call that returned `code`.
inline void check(dlc_code code) {
  if (code != DLC_OK)
    throw Error(code, dlc_message());
}

inline std::string version() { return dlc_version(); }

// Flags of the tool without dashes, and their values; "" for a flag alone.
using Options = std::vector<std::pair<std::string, std::string>>;

// Options as dlc.h takes them, as long as the Options live.
inline std::vector<dlc_option> toC(const Options &options) {
  std::vector<dlc_option> list;
  for (const auto &[name, value] : options)
    list.push_back({name.c_str(), value.empty() ? nullptr : value.c_str()});
  return list;
}

// The description of an option: dlc_option_row.
using OptionRow = dlc_option_row;
// Of a "dataset", a "session" or a "trainer".
inline std::vector<OptionRow> optionsOf(const std::string &what) {
  size_t count = 0;
  const dlc_option_row *rows = dlc_options(what.c_str(), &count);
  return {rows, rows + count};
}

// `dlc compile` and `dlc export`, executed by the compiler's program
// (compile.h).
inline void compile(const std::string &model, const std::string &artifact,
                    const Options &options = {}) {
  const auto list = toC(options);
  check(dlc_compile(model.c_str(), artifact.c_str(), list.data(), list.size()));
}
inline void exportOnnx(const std::string &model, const std::string &file,
                       const Options &options = {}) {
  const auto list = toC(options);
  check(dlc_export(model.c_str(), file.c_str(), list.data(), list.size()));
}

// Name, dtype and shape, and a view of bytes with another owner.
struct Tensor {
  std::string name;
  dlc_dtype dtype = DLC_F32;
  std::vector<int64_t> shape;
  void *data = nullptr;
  uint64_t bytes = 0;

  Tensor() = default;
  // `bytes` is the size that the shape requires.
  Tensor(std::string name, dlc_dtype dtype, std::vector<int64_t> shape,
         const void *data = nullptr)
      : name(std::move(name)), dtype(dtype), shape(std::move(shape)),
        data(const_cast<void *>(data)),
        bytes(elements() * dlc_dtype_size(dtype)) {}
  explicit Tensor(const dlc_tensor &t)
      : name(t.name), dtype(t.dtype), shape(t.shape, t.shape + t.rank),
        data(t.data), bytes(t.bytes) {}

  uint64_t elements() const {
    uint64_t n = 1;
    for (int64_t size : shape)
      n *= static_cast<uint64_t>(size);
    return n;
  }
  // The elements, typed by the dtype: float for DLC_F32.
  template <class T> const T *as() const {
    return static_cast<const T *>(data);
  }
  dlc_tensor c() const {
    return {name.c_str(), dtype, static_cast<int32_t>(shape.size()),
            shape.data(), data,  bytes};
  }
};

inline std::vector<dlc_tensor> toC(const std::vector<Tensor> &tensors) {
  std::vector<dlc_tensor> list;
  for (const Tensor &tensor : tensors)
    list.push_back(tensor.c());
  return list;
}

// Samples that a program provides on demand: derive a class, and pass it to
// Dataset::of.
class Source {
public:
  virtual ~Source() = default;
  virtual std::string name() const { return "the program's data"; }
  virtual int64_t samples() const = 0;
  // Name, dtype and shape of one sample's columns.
  virtual std::vector<Tensor> columns() const = 0;
  // Writes a column of a sample to `to`, which has its size. Several threads
  // may call it concurrently; an exception ends the caller.
  virtual void read(size_t column, int64_t sample, void *to) const = 0;
  // Identifies the data for a resumed run; "": not checked.
  virtual std::string identity() const { return ""; }
};

class Dataset {
public:
  // A path as of `dlc train --data`, and flags that select samples: {"columns",
  // "x:a..f;y:label"}.
  static Dataset open(const std::string &path, const Options &options = {}) {
    dlc_dataset *made = nullptr;
    const auto list = toC(options);
    check(dlc_dataset_open_with(path.c_str(), list.data(), list.size(), &made));
    return Dataset(made);
  }
  // Named arrays whose rows are the samples; copied.
  static Dataset of(const std::vector<Tensor> &arrays) {
    dlc_dataset *made = nullptr;
    const auto list = toC(arrays);
    check(dlc_dataset_from_arrays(list.data(), list.size(), &made));
    return Dataset(made);
  }
  // The same without a copy; `owner` is released after the last read.
  static Dataset view(const std::vector<Tensor> &arrays,
                      std::shared_ptr<const void> owner) {
    using Kept = std::shared_ptr<const void>;
    dlc_dataset *made = nullptr;
    const auto list = toC(arrays);
    auto kept = std::make_unique<Kept>(std::move(owner));
    check(dlc_dataset_from_views(
        list.data(), list.size(),
        [](void *user) { delete static_cast<Kept *>(user); }, kept.get(),
        &made));
    kept.release(); // by the data set's end
    return Dataset(made);
  }
  static Dataset of(std::shared_ptr<const Source> source) {
    using Kept = std::shared_ptr<const Source>;
    const std::vector<Tensor> columns = source->columns();
    const auto list = toC(columns);
    const std::string name = source->name(), identity = source->identity();
    auto kept = std::make_unique<Kept>(std::move(source));
    const dlc_source calls = {
        sizeof(dlc_source),
        kept.get(),
        name.c_str(),
        (*kept)->samples(),
        list.data(),
        list.size(),
        [](void *user, size_t column, int64_t sample, void *to) {
          try {
            (*static_cast<Kept *>(user))->read(column, sample, to);
            return 0;
          } catch (...) {
            return 1;
          }
        },
        identity.empty() ? nullptr : identity.c_str(),
        [](void *user) { delete static_cast<Kept *>(user); }};
    dlc_dataset *made = nullptr;
    check(dlc_dataset_from_source(&calls, &made));
    kept.release(); // by the data set's end
    return Dataset(made);
  }

  const dlc_dataset *c() const { return handle_.get(); }

private:
  struct Close {
    void operator()(dlc_dataset *d) const { dlc_dataset_close(d); }
  };
  explicit Dataset(dlc_dataset *made) : handle_(made) {}
  std::unique_ptr<dlc_dataset, Close> handle_;
};

struct Evaluation {
  double loss = 0; // mean over all samples
  std::optional<double> accuracy;
  int64_t samples = 0;
};

// A loaded model.
class Session {
public:
  // An artifact, a run (its newest checkpoint) or a checkpoint.
  static Session open(const std::string &path, const Options &options = {}) {
    dlc_session *made = nullptr;
    const auto list = toC(options);
    check(dlc_session_open(path.c_str(), list.data(), list.size(), &made));
    return Session(made);
  }

  // Of "train_step", "eval_step" or "predict", without data.
  std::vector<Tensor> inputs(const std::string &program) const {
    size_t count = 0;
    const dlc_tensor *list = dlc_session_inputs(c(), program.c_str(), &count);
    return {list, list + count};
  }
  // Trains on one micro-batch, in train_step's dtypes and shapes. True after
  // the last micro-batch of an update.
  bool trainStep(const std::vector<Tensor> &inputs) {
    int updated = 0;
    const auto list = toC(inputs);
    check(dlc_session_train_step(c(), list.data(), list.size(), &updated));
    return updated != 0;
  }
  // "loss", "lr", ... of the last update.
  double metric(const std::string &name) const {
    double value = 0;
    check(dlc_session_metric(c(), name.c_str(), &value));
    return value;
  }
  // Called after each batch of later evaluations and predictions; false ends
  // them with an exception.
  void onBatch(std::function<bool()> goesOn) {
    goesOn_ = std::make_unique<std::function<bool()>>(std::move(goesOn));
    dlc_session_on_batch(
        c(),
        [](void *user) {
          return (*static_cast<std::function<bool()> *>(user))() ? 0 : 1;
        },
        goesOn_.get());
  }
  Evaluation evaluate(const Dataset &samples) {
    dlc_evaluation found = {};
    found.size = sizeof(found);
    check(dlc_session_evaluate(c(), samples.c(), &found));
    Evaluation result{found.loss, {}, found.samples};
    if (found.has_accuracy)
      result.accuracy = found.accuracy;
    return result;
  }
  // For all samples, in order; the session owns the bytes until its next
  // prediction.
  std::vector<Tensor> predict(const Dataset &samples) {
    const dlc_tensor *list = nullptr;
    size_t count = 0;
    check(dlc_session_predict(c(), samples.c(), &list, &count));
    return {list, list + count};
  }

  // Parameters, buffers and the optimizer's state, without data.
  std::vector<Tensor> states() const {
    size_t count = 0;
    const dlc_tensor *list = dlc_session_states(c(), &count);
    return {list, list + count};
  }
  void read(const std::string &state, void *to, uint64_t bytes) const {
    check(dlc_session_read(c(), state.c_str(), to, bytes));
  }
  void write(const std::string &state, const void *from, uint64_t bytes) {
    check(dlc_session_write(c(), state.c_str(), from, bytes));
  }
  void save(const std::string &path) const {
    check(dlc_session_save(c(), path.c_str()));
  }
  void load(const std::string &path) {
    check(dlc_session_load(c(), path.c_str()));
  }

private:
  struct Close {
    void operator()(dlc_session *s) const { dlc_session_close(s); }
  };
  explicit Session(dlc_session *made) : handle_(made) {}
  dlc_session *c() const { return handle_.get(); }
  std::unique_ptr<std::function<bool()>> goesOn_;
  std::unique_ptr<dlc_session, Close> handle_;
};

// A callback that returns false ends the run with a checkpoint. Trainer::run()
// throws its exceptions.
struct Callbacks {
  std::function<bool(const dlc_step &step)> step = {};
  std::function<bool(const dlc_epoch &epoch)> epoch = {};
};

// "loss" of a step, "val_accuracy" of an epoch; nothing if absent.
template <class Event>
std::optional<double> valueOf(const Event &event, const std::string &name) {
  for (size_t i = 0; i < event.count; ++i)
    if (name == event.names[i])
      return event.values[i];
  return {};
}

struct Run {
  std::string folder;
  int64_t steps = 0;    // done in all
  bool stopped = false; // by a callback, before its end
  int signal = 0;       // that ended it early; 0: none
};

// A training run; the options are the flags of `dlc train`. See
// dlc_trainer_open.
class Trainer {
public:
  static Trainer open(const std::string &model, const Options &options,
                      Callbacks callbacks = {}) {
    return Trainer(&model, nullptr, nullptr, options, std::move(callbacks));
  }
  static Trainer open(const std::string &model, const Dataset &train,
                      const Options &options, Callbacks callbacks = {}) {
    return Trainer(&model, &train, nullptr, options, std::move(callbacks));
  }
  static Trainer open(const std::string &model, const Dataset &train,
                      const Dataset &val, const Options &options,
                      Callbacks callbacks = {}) {
    return Trainer(&model, &train, &val, options, std::move(callbacks));
  }
  // All of these may be null.
  static Trainer make(const std::string *model, const Dataset *train,
                      const Dataset *val, const Options &options,
                      Callbacks callbacks = {}) {
    return Trainer(model, train, val, options, std::move(callbacks));
  }
  // Resumes a run; data sets as at its start, null for its files.
  static Trainer resume(const std::string &run, const Options &options = {},
                        Callbacks callbacks = {},
                        const Dataset *train = nullptr,
                        const Dataset *val = nullptr) {
    Options all = options;
    all.emplace_back("resume", run);
    return Trainer(nullptr, train, val, all, std::move(callbacks));
  }

  Run run() {
    dlc_run found = {};
    found.size = sizeof(found);
    const dlc_code code = dlc_trainer_run(handle_.get(), &found);
    if (calls_->thrown)
      std::rethrow_exception(calls_->thrown);
    check(code);
    return {found.folder, found.steps, found.stopped != 0, found.signal};
  }

private:
  struct Close {
    void operator()(dlc_trainer *t) const { dlc_trainer_close(t); }
  };
  struct Calls { // stays where it is
    Callbacks functions;
    std::exception_ptr thrown;

    template <class F> int call(F &&f) noexcept {
      try {
        return f() ? 0 : 1;
      } catch (...) {
        thrown = std::current_exception();
        return 1;
      }
    }
    static int step(void *user, const dlc_step *s) {
      auto *calls = static_cast<Calls *>(user);
      return calls->call([&] { return calls->functions.step(*s); });
    }
    static int epoch(void *user, const dlc_epoch *e) {
      auto *calls = static_cast<Calls *>(user);
      return calls->call([&] { return calls->functions.epoch(*e); });
    }
  };

  Trainer(const std::string *model, const Dataset *train, const Dataset *val,
          const Options &options, Callbacks callbacks)
      : calls_(new Calls{std::move(callbacks), {}}) {
    const auto list = toC(options);
    const dlc_callbacks c{sizeof(dlc_callbacks), calls_.get(),
                          calls_->functions.step ? Calls::step : nullptr,
                          calls_->functions.epoch ? Calls::epoch : nullptr};
    dlc_trainer *made = nullptr;
    check(dlc_trainer_open(
        model ? model->c_str() : nullptr, train ? train->c() : nullptr,
        val ? val->c() : nullptr, list.data(), list.size(), &c, &made));
    handle_.reset(made);
  }

  std::unique_ptr<Calls> calls_;
  std::unique_ptr<dlc_trainer, Close> handle_;
};

} // namespace api_v1
} // namespace dlc
