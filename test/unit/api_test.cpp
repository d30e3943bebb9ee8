// SPDX-License-Identifier: Apache-2.0
// dlc.h and dlc.hpp on a model made by hand: what their comments promise, and
// what they refuse.
#include "test/unit/ApiFixture.h"

#include <numeric>

namespace {

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

// A program's signals are its own.
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
