// SPDX-License-Identifier: Apache-2.0
// dlc.h and dlc.hpp on a model made by hand: what their comments promise, and
// what they refuse.
#include "runtime/api/dlc/dlc.hpp"

#include "runtime/data/Npy.h"
#include "test/unit/TempFolder.h"
#include "test/unit/TinyModel.h"

#include <csignal>
#include <fstream>
#include <numeric>

namespace {

using namespace dlc::api_v1;
using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;

class Api : public TempFolder {
protected:
  void SetUp() override {
    ASSERT_TRUE(dlc::test::writeTinyModel(path("m.dlc")).ok());
    dlc_set_log([](void *, dlc_level, const char *) {}, nullptr);
  }
  void TearDown() override { dlc_set_log(nullptr, nullptr); }

  Dataset samples(int64_t count, int64_t columns = 4) {
    x_.assign(static_cast<size_t>(count * columns), 1);
    y_.assign(static_cast<size_t>(count), 1);
    return Dataset::of({{"x", DLC_F32, {count, columns}, x_.data()},
                        {"y", DLC_I64, {count}, y_.data()}});
  }
  Session session() { return Session::open(path("m.dlc")); }
  Options options(Options more) {
    more.insert(more.end(), {{"quiet", ""}, {"threads", "1"}});
    return more;
  }

  Floats x_;
  Longs y_;
};

// The code and message that `body` throws.
template <class F>
void expectError(dlc_code code, const char *words, F &&body) {
  try {
    body();
    ADD_FAILURE() << "expected an error: " << words;
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos)
        << error.what();
  }
}

TEST_F(Api, SaysItsVersion) { EXPECT_EQ(version(), "0.1.0"); }

TEST_F(Api, OptionsOfTheCompilerAreFlags) {
  for (const char *name : {"", "--amp", "a b", "x=y"})
    expectError(DLC_USAGE, "is not an option", [&] {
      compile("m.onnx", path("c.dlc"), {{name, ""}});
    });
  EXPECT_EQ(dlc_compile(nullptr, "x", nullptr, 0), DLC_USAGE);
  EXPECT_EQ(dlc_export("x", nullptr, nullptr, 0), DLC_USAGE);
}

TEST_F(Api, SizesOfTypes) {
  EXPECT_EQ(dlc_dtype_size(DLC_F32), 4u);
  EXPECT_EQ(dlc_dtype_size(DLC_BF16), 2u);
  EXPECT_EQ(dlc_dtype_size(DLC_I64), 8u);
  EXPECT_EQ(dlc_dtype_size(DLC_BOOL), 1u);
  EXPECT_EQ(dlc_dtype_size(static_cast<dlc_dtype>(8)), 0u);
  EXPECT_EQ(dlc_dtype_size(static_cast<dlc_dtype>(-1)), 0u);
}

TEST_F(Api, AStepOfTraining) {
  Session s = session();
  const auto inputs = s.inputs("train_step");
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].name, "input");
  EXPECT_EQ(inputs[0].shape, (Longs{2, 4}));
  EXPECT_EQ(inputs[1].dtype, DLC_I64);
  EXPECT_TRUE(s.inputs("no_program").empty());
  expectError(DLC_USAGE, "no update", [&] { s.metric("loss"); });

  Floats x(8, 1), before(4), after(4);
  Longs y = {0, 1};
  s.read("w", before.data(), 16);
  EXPECT_TRUE(s.trainStep(
      {{"", DLC_F32, {2, 4}, x.data()}, {"", DLC_I64, {2}, y.data()}}));
  s.read("w", after.data(), 16);
  EXPECT_FLOAT_EQ(after[0], before[0] + 0.2f);
  EXPECT_FLOAT_EQ(static_cast<float>(s.metric("loss")),
                  std::accumulate(after.begin(), after.end(), 0.0f));
  EXPECT_EQ(s.metric("lr"), 0.25);
}

TEST_F(Api, WrongInputsOfAStep) {
  Session s = session();
  Floats x(8, 1);
  Longs y = {0, 1}, wild = {0, 7};
  const Tensor good("", DLC_F32, {2, 4}, x.data());
  const Tensor labels("", DLC_I64, {2}, y.data());
  expectError(DLC_USAGE, "takes 2 inputs, found 1",
              [&] { s.trainStep({good}); });
  expectError(DLC_USAGE, "input 'input' is f32 [8], expected f32 [2, 4]", [&] {
    s.trainStep({Tensor("", DLC_F32, {8}, x.data()), labels});
  });
  expectError(DLC_USAGE, "expected i64 [2]", [&] {
    s.trainStep({good, Tensor("", DLC_F32, {2}, x.data())});
  });
  expectError(DLC_USAGE, "has 0 bytes, expected 16", [&] {
    s.trainStep({good, Tensor("", DLC_I64, {2})});
  });
  expectError(DLC_USAGE, "7", [&] {
    s.trainStep({good, Tensor("", DLC_I64, {2}, wild.data())});
  });
}

TEST_F(Api, EvaluatesAndPredictsAnyNumber) {
  Session s = session();
  const Evaluation result = s.evaluate(samples(5));
  EXPECT_EQ(result.samples, 5);
  EXPECT_EQ(result.loss, 4);
  EXPECT_EQ(result.accuracy, 1.0);
  Floats w(4, 2);
  s.write("w", w.data(), 16);
  const auto outputs = s.predict(samples(3));
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].name, "logits");
  EXPECT_EQ(outputs[0].shape, (Longs{3, 4}));
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(outputs[0].as<float>()[i], 3);
}

TEST_F(Api, ArraysThatAreReadWhereTheyAre) {
  Session s = session();
  Floats x(5 * 4, 1);
  Longs y(5, 1);
  bool gone = false;
  const auto view = [&](const Tensor &first) {
    const auto release = [&gone](const void *) { gone = true; };
    return Dataset::view({first, {"y", DLC_I64, {5}, y.data()}},
                         std::shared_ptr<const void>(&gone, release));
  };
  {
    const Dataset samples = view({"x", DLC_F32, {5, 4}, x.data()});
    EXPECT_EQ(s.evaluate(samples).loss, 4);
    x.assign(20, 2); // what a copy would not see
    EXPECT_EQ(s.evaluate(samples).loss, 8);
    EXPECT_FALSE(gone);
  }
  EXPECT_TRUE(gone);
  expectError(DLC_USAGE, "two arrays", [&] {
    view({"y", DLC_F32, {5, 4}, x.data()});
  });
  const dlc_tensor wrong = Tensor("x", DLC_F32, {2}).c();
  dlc_dataset *made = nullptr;
  const auto fail = [](void *) { ADD_FAILURE() << "released"; };
  EXPECT_EQ(dlc_dataset_from_views(&wrong, 1, fail, nullptr, &made), DLC_USAGE);
}

TEST_F(Api, EvaluationAndPredictionCanBeEnded) {
  Session s = session();
  int batches = 0;
  s.onBatch([&] { return ++batches < 2; });
  expectError(DLC_FAILED, "stopped", [&] { s.evaluate(samples(10)); });
  EXPECT_EQ(batches, 2);
  expectError(DLC_FAILED, "stopped", [&] { s.predict(samples(10)); });
  s.onBatch([] { return true; });
  EXPECT_EQ(s.evaluate(samples(10)).loss, 4);
}

TEST_F(Api, OptionsAsRows) {
  const auto find = [](const char *of, const std::string &name) {
    for (const OptionRow &row : optionsOf(of))
      if (name == row.name)
        return row;
    throw std::out_of_range(name);
  };
  EXPECT_STREQ(find("trainer", "epochs").word, "N");
  EXPECT_STREQ(find("trainer", "quiet").help, "no progress");
  EXPECT_EQ(find("dataset", "mean").list, 1);
  EXPECT_TRUE(optionsOf("nothing").empty());
}

TEST_F(Api, StateByName) {
  Session s = session();
  const auto states = s.states();
  ASSERT_FALSE(states.empty());
  EXPECT_EQ(states[0].name, "w");
  EXPECT_EQ(states[0].bytes, 16u);
  Floats w(4, 5);
  expectError(DLC_USAGE, "no state 'q'", [&] { s.read("q", w.data(), 16); });
  expectError(DLC_USAGE, "has 16 bytes, found 12",
              [&] { s.read("w", w.data(), 12); });
  expectError(DLC_USAGE, "has 16 bytes, found 20",
              [&] { s.write("w", w.data(), 20); });
  s.write("w", w.data(), 16);
  s.save(path("saved.safetensors"));
  Session other = session();
  other.load(path("saved.safetensors"));
  Floats read(4);
  other.read("w", read.data(), 16);
  EXPECT_EQ(read, w);
  expectError(DLC_FAILED, "none",
              [&] { other.load(path("none.safetensors")); });
}

TEST_F(Api, OptionsByTheirFlags) {
  Session::open(path("m.dlc"), {{"threads", "1"}, {"ema", ""}});
  expectError(DLC_USAGE, "no option 'thread'; did you mean 'threads'?", [&] {
    Session::open(path("m.dlc"), {{"thread", "1"}});
  });
  expectError(DLC_USAGE, "threads", [&] {
    Session::open(path("m.dlc"), {{"threads", "many"}});
  });
  expectError(DLC_FAILED, "none.dlc", [&] { Session::open(path("none.dlc")); });
}

TEST_F(Api, ArraysThatCannotBe) {
  Floats x(8, 1);
  expectError(DLC_USAGE, "no name", [&] {
    Dataset::of({{"", DLC_F32, {2, 4}, x.data()}});
  });
  expectError(DLC_USAGE, "two arrays", [&] {
    Dataset::of({{"x", DLC_F32, {8}, x.data()}, {"x", DLC_F32, {8}, x.data()}});
  });
  expectError(DLC_USAGE, "impossible size", [&] {
    Dataset::of({{"x", DLC_F32, {-1}, x.data()}});
  });
  expectError(DLC_USAGE, "0 bytes, expected 32", [&] {
    Dataset::of({{"x", DLC_F32, {8}}});
  });
  Tensor wrong("x", DLC_F32, {8}, x.data());
  wrong.dtype = static_cast<dlc_dtype>(99);
  expectError(DLC_USAGE, "dtype 99", [&] { Dataset::of({wrong}); });
  expectError(DLC_FAILED, "none.npz", [&] { Dataset::open(path("none.npz")); });
  Session s = session();
  expectError(DLC_FAILED, "arrays in memory",
              [&] { s.evaluate(samples(4, 3)); });
}

// Samples that are all ones; from number `bad` on they cannot be read.
class Ones final : public Source {
public:
  explicit Ones(int64_t bad, int64_t label = 1, bool *gone = nullptr)
      : bad_(bad), label_(label), gone_(gone) {}
  ~Ones() override {
    if (gone_)
      *gone_ = true;
  }
  int64_t samples() const override { return 10; }
  std::vector<Tensor> columns() const override {
    return {{"x", DLC_F32, {4}}, {"y", DLC_I64, {}}};
  }
  void read(size_t column, int64_t sample, void *to) const override {
    if (sample >= bad_)
      throw std::runtime_error("broken");
    if (column == 0)
      std::fill_n(static_cast<float *>(to), 4, 1.0f);
    else
      *static_cast<int64_t *>(to) = label_;
  }

private:
  int64_t bad_, label_;
  bool *gone_;
};

TEST_F(Api, AProgramsOwnSamples) {
  bool gone = false;
  {
    const auto ones = Dataset::of(std::make_shared<Ones>(10, 1, &gone));
    EXPECT_EQ(session().evaluate(ones).samples, 10);
    const auto outputs = session();
    EXPECT_FALSE(gone);
  }
  EXPECT_TRUE(gone);
}

TEST_F(Api, ASampleThatCannotBeReadIsNamed) {
  const auto broken = Dataset::of(std::make_shared<Ones>(7));
  expectError(DLC_FAILED, "sample 7", [&] { session().evaluate(broken); });
  expectError(DLC_FAILED, "sample", [&] {
    Trainer::open(path("m.dlc"), broken,
                  options({{"run", path("r")}, {"epochs", "1"}}))
        .run();
  });
  const auto wild = Dataset::of(std::make_shared<Ones>(10, 9));
  expectError(DLC_FAILED, "label 9 in row 0 is out of range",
              [&] { session().evaluate(wild); });
  dlc_dataset *made = nullptr;
  EXPECT_EQ(dlc_dataset_from_source(nullptr, &made), DLC_USAGE);
  dlc_source empty = {};
  EXPECT_EQ(dlc_dataset_from_source(&empty, &made), DLC_USAGE);
  EXPECT_EQ(made, nullptr);
}

TEST_F(Api, CallbacksSeeStepsAndEpochs) {
  Longs steps, epochs;
  Callbacks callbacks;
  callbacks.step = [&](const dlc_step &s) {
    steps.push_back(s.step);
    EXPECT_EQ(s.steps, 10);
    EXPECT_EQ(s.epoch, (s.step - 1) / 5);
    EXPECT_TRUE(valueOf(s, "loss"));
    EXPECT_FALSE(valueOf(s, "nothing"));
    return true;
  };
  callbacks.epoch = [&](const dlc_epoch &e) {
    epochs.push_back(e.epoch);
    EXPECT_EQ(valueOf(e, "val_accuracy"), 1.0);
    return true;
  };
  const Dataset data = samples(10);
  auto trainer = Trainer::open(path("m.dlc"), data, data,
                               options({{"run", path("run")}, {"epochs", "2"}}),
                               callbacks);
  const auto run = trainer.run();
  EXPECT_EQ(run.steps, 10);
  EXPECT_FALSE(run.stopped);
  EXPECT_EQ(steps.size(), 10u);
  EXPECT_EQ(epochs, (Longs{1, 2}));
  expectError(DLC_USAGE, "runs once", [&] { trainer.run(); });
}

TEST_F(Api, ASessionMakesSamplesAsItsRunDid) {
  double loss = 0;
  Callbacks callbacks;
  callbacks.epoch = [&](const dlc_epoch &e) {
    loss = *valueOf(e, "val_loss");
    return true;
  };
  const Dataset data = samples(10);
  const auto train = [&](const std::string &name, Options more) {
    more.insert(more.end(), {{"run", path(name)}, {"epochs", "1"}});
    return Trainer::open(path("m.dlc"), data, data, options(more), callbacks)
        .run()
        .folder;
  };
  const auto run = train("run", {{"mean", "0.75"}, {"std", "0.125"}});
  EXPECT_EQ(Session::open(run).evaluate(data).loss, loss);
  const double normalized = loss;
  train("plain", {});
  EXPECT_NE(loss, normalized);
}

TEST_F(Api, AFileOpenedWithOptions) {
  std::ofstream(path("a.csv")) << "id,a,b,c,d,kind\n7,1,2,3,4,u\n8,5,6,7,8,v\n"
                                  "9,1,1,1,1,v\n1,2,2,2,2,u\n";
  const Options columns = {{"columns", "x:a..d;y:kind"}};
  const Dataset table = Dataset::open(path("a.csv"), columns);
  EXPECT_EQ(session().evaluate(table).loss, (10 + 26 + 4 + 8) / 4.0);
  const auto halved = Dataset::open(
      path("a.csv"), {{"columns", "x:a..d;y:kind"}, {"scale", "0.5"}});
  EXPECT_EQ(session().evaluate(halved).loss, (10 + 26 + 4 + 8) / 8.0);
  expectError(DLC_USAGE, "no option 'colums'; did you mean 'columns'?", [&] {
    Dataset::open(path("a.csv"), {{"colums", "x:a"}});
  });
  expectError(DLC_FAILED, "no column 'e'", [&] {
    Dataset::open(path("a.csv"), {{"columns", "x:a..e"}});
  });
  expectError(DLC_USAGE, "names 2 sources of samples, expected one", [&] {
    Dataset::open(path("a.csv") + "," + path("m.dlc/state.safetensors"));
  });

  // A run takes them as its own, and goes on with them.
  const auto train = [&](const std::string &name, Options more) {
    more.insert(more.end(), {{"run", path(name)}, {"steps", "4"}});
    return Trainer::open(path("m.dlc"), halved, halved, options(more)).run();
  };
  const auto run = train("run", {});
  EXPECT_EQ(
      Session::open(run.folder).evaluate(Dataset::open(path("a.csv"))).loss,
      (10 + 26 + 4 + 8) / 8.0);
  Trainer::resume(run.folder, options({{"steps", "6"}}), {}, &halved).run();
  expectError(DLC_USAGE,
              "option 'scale' is given to the data set and to the "
              "trainer, expected one",
              [&] {
                train("twice", {{"scale", "1"}});
              });
  const auto whole = Dataset::open(
      path("a.csv"), {{"columns", "x:a..d;y:kind"}, {"scale", "1"}});
  expectError(DLC_USAGE, "that make other samples than the run has", [&] {
    Trainer::open(path("m.dlc"), halved, whole,
                  options({{"run", path("val")}, {"steps", "4"}}));
  });
  expectError(DLC_USAGE, "that make other samples than the run has", [&] {
    Trainer::resume(run.folder, options({{"steps", "8"}}), {}, &whole);
  });
}

TEST_F(Api, ACallbackEndsARunThatGoesOnLater) {
  const Dataset data = samples(10);
  const auto train = [&](const std::string &name, int64_t last) {
    Callbacks callbacks;
    callbacks.step = [last](const dlc_step &s) { return s.step < last; };
    return Trainer::open(path("m.dlc"), data,
                         options({{"run", path(name)}, {"steps", "20"}}),
                         callbacks)
        .run();
  };
  const auto whole = train("whole", 100), part = train("part", 7);
  EXPECT_TRUE(part.stopped);
  EXPECT_EQ(part.steps, 7);
  expectError(DLC_FAILED, "not the data", [&] {
    const Dataset other = samples(12);
    Trainer::resume(part.folder, options({{"steps", "30"}}), {}, &other);
  });
  const auto rest = Trainer::resume(part.folder, options({}), {}, &data).run();
  EXPECT_EQ(rest.steps, 20);
  Floats a(4), b(4);
  Session::open(whole.folder).read("w", a.data(), 16);
  Session::open(rest.folder).read("w", b.data(), 16);
  EXPECT_EQ(a, b);
}

TEST_F(Api, WhatACallbackThrowsComesOut) {
  Callbacks callbacks;
  callbacks.step = [](const dlc_step &) -> bool {
    throw std::logic_error("mine");
  };
  auto trainer = Trainer::open(path("m.dlc"), samples(10),
                               options({{"run", path("run")}}), callbacks);
  EXPECT_THROW(trainer.run(), std::logic_error);
}

TEST_F(Api, PlacesOfARun) {
  const Dataset data = samples(10);
  expectError(DLC_USAGE, "expected samples to train on",
              [&] { Trainer::open(path("m.dlc"), Options{}); });
  expectError(DLC_USAGE, "no option 'epoch'; did you mean 'epochs'?", [&] {
    Trainer::open(path("m.dlc"), data, {{"epoch", "1"}});
  });
  expectError(DLC_FAILED, "none", [&] { Trainer::resume(path("none")); });
  expectError(DLC_USAGE, "--seed cannot change", [&] {
    Trainer::resume(path("none"), {{"seed", "1"}});
  });
  dlc_trainer *made = nullptr;
  EXPECT_EQ(
      dlc_trainer_open(nullptr, nullptr, nullptr, nullptr, 0, nullptr, &made),
      DLC_USAGE);
  EXPECT_NE(std::string(dlc_message()).find("expected a model"),
            std::string::npos);
}

// A program's signals are its own.
TEST_F(Api, LeavesSignalsAlone) {
  static int caught = 0;
  std::signal(SIGTERM, [](int) { ++caught; });
  Callbacks callbacks;
  callbacks.step = [](const dlc_step &s) {
    if (s.step == 2)
      std::raise(SIGTERM);
    return true;
  };
  const auto run =
      Trainer::open(path("m.dlc"), samples(10),
                    options({{"run", path("run")}, {"steps", "4"}}), callbacks)
          .run();
  std::signal(SIGTERM, SIG_DFL);
  EXPECT_EQ(caught, 1);
  EXPECT_EQ(run.steps, 4);
  EXPECT_EQ(run.signal, 0);
}

TEST_F(Api, MessagesGoToTheProgramsLog) {
  std::vector<std::string> lines;
  dlc_set_log(
      [](void *user, dlc_level level, const char *line) {
        if (level == DLC_INFO)
          static_cast<std::vector<std::string> *>(user)->push_back(line);
      },
      &lines);
  Trainer::open(path("m.dlc"), samples(10),
                {{"run", path("run")}, {"steps", "4"}, {"threads", "1"}})
      .run();
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines[0].find("4 steps of 2 samples"), std::string::npos)
      << lines[0];
}

TEST_F(Api, NullPlaces) {
  EXPECT_EQ(dlc_session_open(nullptr, nullptr, 0, nullptr), DLC_USAGE);
  EXPECT_EQ(dlc_session_open("x", nullptr, 0, nullptr), DLC_USAGE);
  EXPECT_EQ(dlc_dataset_open("x", nullptr), DLC_USAGE);
  EXPECT_EQ(dlc_dataset_open_with("x", nullptr, 0, nullptr), DLC_USAGE);
  dlc_dataset *none = nullptr;
  EXPECT_EQ(dlc_dataset_open_with("x", nullptr, 1, &none), DLC_USAGE);
  EXPECT_EQ(dlc_dataset_from_arrays(nullptr, 1, nullptr), DLC_USAGE);
  dlc_session *made = nullptr;
  EXPECT_EQ(dlc_session_open("x", nullptr, 2, &made), DLC_USAGE);
  dlc_session_close(nullptr);
  dlc_dataset_close(nullptr);
  dlc_trainer_close(nullptr);
}

} // namespace
