// SPDX-License-Identifier: Apache-2.0
// runtime/train on a model made by hand: sessions, runs, checkpoints, resuming.
#include "runtime/train/Trainer.h"

#include "runtime/base/numbers/Hash.h"
#include "runtime/base/process/Log.h"
#include "runtime/train/run/Checkpoints.h"
#include "runtime/train/run/JsonLines.h"
#include "runtime/train/session/Inputs.h"
#include "runtime/train/session/State.h"
#include "test/unit/TempFolder.h"
#include "test/unit/TinyModel.h"

#include <cmath>
#include <csignal>
#include <functional>
#include <sys/resource.h>
#include <thread>

using namespace dlc;
using namespace dlc::test;

namespace {

constexpr int64_t kSamples = 23;

class Training : public TempFolder {
protected:
  void SetUp() override {
    setQuiet(true);
    ASSERT_TRUE(writeTinyModel(path("m.dlc")).ok());
    writeData("data.npz", 0);
  }

  // x[i] = i / 7 in every column, y = i % 2.
  void writeData(const std::string &name, float offset) {
    std::vector<float> x;
    std::vector<int64_t> y;
    for (int64_t i = 0; i < kSamples; ++i) {
      x.insert(x.end(), 4, static_cast<float>(i) / 7 + offset);
      y.push_back(i % 2);
    }
    ASSERT_TRUE(
        writeNpz(path(name),
                 {{"x", DType::F32, {kSamples, 4}, std::as_bytes(std::span(x))},
                  {"y", DType::I64, {kSamples}, std::as_bytes(std::span(y))}})
            .ok());
  }

  TrainOptions options(const std::string &run, int64_t steps) const {
    TrainOptions options;
    options.artifact = path("m.dlc");
    options.data = path("data.npz");
    options.run = path(run);
    options.steps = steps;
    options.quiet = true;
    options.threads = 1;
    return options;
  }

  static Result<TrainResult> train(const TrainOptions &options,
                                   Communicator *ranks = nullptr) {
    auto alone = makeSingleCommunicator();
    DLC_ASSIGN(auto trainer, Trainer::create(options, ranks ? *ranks : *alone));
    return trainer->run();
  }
  static Result<TrainResult> resume(TrainOptions given) {
    DLC_ASSIGN(TrainOptions options, resumeOptions(given));
    options.quiet = true;
    return train(options);
  }
  Result<TrainResult> resume(const std::string &run, int64_t steps = 0) {
    TrainOptions given;
    given.resume = path(run);
    given.steps = steps;
    if (steps)
      given.given = {"run.steps"};
    return resume(given);
  }

  std::string state(const std::string &run, int64_t step) const {
    auto content = readFile(
        path(fmt::format("{}/checkpoint-{}/state.safetensors", run, step)));
    EXPECT_TRUE(content.ok()) << content.status().message();
    return content ? *content : "";
  }
  // Another trainer.json, with hashes that fit.
  void rewrite(const std::string &checkpoint,
               const std::function<void(Json &)> &change) const {
    const std::string folder = path(checkpoint);
    Json trainer = *parseJson(*readFile(folder + "/trainer.json"));
    change(trainer);
    ASSERT_TRUE(
        writeFileAtomically(folder + "/trainer.json", dumpJson(trainer)).ok());
    Json manifest = *parseJson(*readFile(folder + "/manifest.json"));
    std::filesystem::remove(folder + "/manifest.json");
    for (const char *key : {"files", "hash"})
      manifest.erase(key);
    ASSERT_TRUE(writeManifest(folder, manifest).ok());
  }
  std::vector<std::string> lines(const std::string &name) const {
    std::vector<std::string> lines;
    std::string text = *readFile(path(name)), line;
    for (char c : text)
      if (c == '\n')
        lines.push_back(std::exchange(line, ""));
      else
        line += c;
    return lines;
  }
};

TEST_F(Training, StepsFollowTheFormula) {
  TrainOptions o = options("run", 3);
  o.shuffle = false;
  ASSERT_TRUE(train(o).ok());
  // Samples 0 to 5: four columns, a tenth of each.
  EXPECT_EQ(lines("run/metrics.jsonl").size(), 3u);
  auto last = *parseJson(lines("run/metrics.jsonl")[2]);
  EXPECT_EQ(last["step"], 3);
  EXPECT_NEAR(last["loss"].get<double>(), 4 * 0.1 * 15 / 7, 1e-6);
  EXPECT_EQ(last["lr"], 0.25);
  EXPECT_GT(last["samples_per_second"], 0);
}

TEST_F(Training, EpochsSaveAndKeep) {
  TrainOptions o = options("run", 0);
  o.epochs = 5;
  o.keep = 2;
  auto result = train(o);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->steps, 55); // 23 samples are 11 steps of 2
  auto checkpoints = listCheckpoints(path("run"));
  ASSERT_EQ(checkpoints.size(), 2u);
  EXPECT_EQ(checkpoints[0].step, 55);
  EXPECT_EQ(checkpoints[1].step, 44);
}

TEST_F(Training, ResumedRunsHaveTheSameBits) {
  ASSERT_TRUE(train(options("whole", 40)).ok());
  for (int64_t stop : {1, 7, 11, 30}) {
    std::string run = fmt::format("part{}", stop);
    ASSERT_TRUE(train(options(run, stop)).ok());
    auto result = resume(run, 40);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(state(run, 40), state("whole", 40));
    EXPECT_EQ(lines(run + "/metrics.jsonl").size(), 40u);
  }
  EXPECT_NE(state("whole", 40), state("whole", 33));
}

TEST_F(Training, AFinishedRunStaysAsItIs) {
  ASSERT_TRUE(train(options("run", 5)).ok());
  std::string before = state("run", 5);
  auto result = resume("run");
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->steps, 5);
  EXPECT_EQ(state("run", 5), before);
}

// What a kill leaves: steps beyond the checkpoint, a torn line, a folder that
// was being written.
TEST_F(Training, LeftoversOfAKillAreCutOff) {
  TrainOptions o = options("run", 6);
  o.saveEvery = 4;
  ASSERT_TRUE(train(o).ok());
  std::string expected = state("run", 6);
  std::filesystem::remove_all(path("run/checkpoint-6"));
  leaveUnfinished(path("run/checkpoint-6"));
  std::string metrics = *readFile(path("run/metrics.jsonl"));
  ASSERT_TRUE(writeFileAtomically(path("run/metrics.jsonl"),
                                  metrics + "{\"step\": 7, \"lo")
                  .ok());
  ASSERT_TRUE(resume("run").ok());
  EXPECT_EQ(state("run", 6), expected);
  EXPECT_EQ(lines("run/metrics.jsonl").size(), 6u);
  for (const auto &entry : std::filesystem::directory_iterator(path("run")))
    EXPECT_EQ(entry.path().string().find(".tmp-"), std::string::npos);
}

TEST_F(Training, DamagedCheckpointsAreSteppedOver) {
  TrainOptions o = options("run", 6);
  o.saveEvery = 3;
  ASSERT_TRUE(train(o).ok());
  std::string expected = state("run", 6), damaged = expected;
  damaged[damaged.size() - 2] ^= 1;
  ASSERT_TRUE(
      writeFileAtomically(path("run/checkpoint-6/state.safetensors"), damaged)
          .ok());
  EXPECT_EQ(openModel(path("run/checkpoint-6")).status().code(), Code::Corrupt);
  EXPECT_EQ(openModel(path("run"))->checkpoint->step, 3);
  ASSERT_TRUE(resume("run").ok());
  EXPECT_EQ(state("run", 6), expected);
  EXPECT_EQ(openModel(path("run"))->checkpoint->step, 6);
  EXPECT_TRUE(exists(path("run/checkpoint-6.damaged")));
}

TEST_F(Training, NamesThatAreNoStepsAreNoCheckpoints) {
  for (const char *name : {"checkpoint-07", "checkpoint-", "checkpoint--1",
                           "checkpoint-7 ", "checkpoint-99999999999999999999",
                           "checkpoint-7.damaged", "xcheckpoint-7"})
    EXPECT_FALSE(stepOfCheckpoint(std::string("run/") + name)) << name;
  EXPECT_EQ(stepOfCheckpoint("checkpoint-0"), 0);
  EXPECT_EQ(stepOfCheckpoint("a/checkpoint-120"), 120);
}

TEST_F(Training, ARunIsLockedWhileItGoesOn) {
  ASSERT_TRUE(train(options("run", 2)).ok());
  auto alone = makeSingleCommunicator();
  TrainOptions given;
  given.resume = path("run");
  given.steps = 4;
  given.given = {"run.steps"};
  auto held = Trainer::create(*resumeOptions(given), *alone);
  ASSERT_TRUE(held.ok()) << held.status().message();
  const Status refused = resume("run", 4).status();
  EXPECT_EQ(refused.code(), Code::Failed);
  EXPECT_NE(
      refused.message().find(fmt::format("run '{}' is in use by process {} on ",
                                         path("run"), ::getpid())),
      std::string::npos)
      << refused.message();
  EXPECT_TRUE(openModel(path("run")).ok()); // reading is free
  held->reset();
  EXPECT_TRUE(resume("run", 4).ok());
}

// A checkpoint of a later step, whole or not, is no past of a run.
TEST_F(Training, LaterCheckpointsDoNotWin) {
  ASSERT_TRUE(train(options("late", 40)).ok());
  ASSERT_TRUE(train(options("run", 6)).ok());
  auto alone = makeSingleCommunicator();
  TrainOptions given;
  given.resume = path("run");
  given.steps = 9;
  given.given = {"run.steps"};
  auto trainer = Trainer::create(*resumeOptions(given), *alone);
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  std::filesystem::copy(path("late/checkpoint-40"), path("run/checkpoint-40"),
                        std::filesystem::copy_options::recursive);
  ASSERT_TRUE((*trainer)->run().ok());
  EXPECT_EQ(listCheckpoints(path("run"))[0].step, 9);
  EXPECT_TRUE(exists(path("run/checkpoint-40.newer/trainer.json")));
}

// What cannot be written is written later, in order.
TEST_F(Training, LinesWaitForRoom) {
  auto opened = JsonLines::open(path("lines.jsonl"), "step", 0);
  ASSERT_TRUE(opened.ok());
  struct rlimit old {
  }, small{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  small = old;
  small.rlim_cur = 25;
  auto *before = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  for (int step : {1, 2, 3})
    opened->append(fmt::format("{{\"step\": {}}}\n", step));
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(readFile(path("lines.jsonl"))->size(), 25u);
  opened->append("{\"step\": 4}\n");
  EXPECT_EQ(*readFile(path("lines.jsonl")),
            "{\"step\": 1}\n{\"step\": 2}\n{\"step\": 3}\n{\"step\": 4}\n");
  std::filesystem::rename(path("lines.jsonl"), path("moved"));
  opened->follow();
  EXPECT_FALSE(exists(path("lines.jsonl")));
  opened->follow();
  opened->append("{\"step\": 5}\n");
  EXPECT_EQ(*readFile(path("lines.jsonl")), "{\"step\": 5}\n");
}

// Whole, but made by hand.
TEST_F(Training, PlacesThatCannotBeAreRefused) {
  ASSERT_TRUE(train(options("run", 8)).ok());
  const Json places[] = {
      {{"world", 0}},      {{"world", 1 << 20}},
      {{"sample", 24}},    {{"sample", UINT64_MAX}},
      {{"step", 7}},       {{"step", -8}},
      {{"samples", 0}},    {{"epoch", UINT64_MAX}},
      {{"step", nullptr}}, {{"samples", 0}, {"sample", nullptr}}};
  for (const Json &place : places) {
    std::filesystem::remove_all(path("copy"));
    std::filesystem::copy(path("run"), path("copy"),
                          std::filesystem::copy_options::recursive);
    rewrite("copy/checkpoint-8", [&](Json &trainer) {
      for (const auto &[key, value] : place.items())
        if (value.is_null())
          trainer.erase(key);
        else
          trainer[key] = value;
    });
    EXPECT_EQ(resume("copy", 20).status().code(), Code::Corrupt)
        << dumpJson(place);
  }
}

TEST_F(Training, OtherDataIsRefused) {
  ASSERT_TRUE(train(options("run", 5)).ok());
  writeData("data.npz", 1);
  Status status = resume("run", 9).status();
  EXPECT_EQ(status.code(), Code::Failed);
  EXPECT_NE(status.message().find("data.npz"), std::string::npos);
}

TEST_F(Training, FoldersInUseAreRefused) {
  ASSERT_TRUE(train(options("run", 2)).ok());
  EXPECT_EQ(train(options("run", 2)).status().code(), Code::Usage);
  EXPECT_EQ(train(options("m.dlc", 2)).status().code(), Code::Usage);
}

TEST_F(Training, SignalsEndItAfterACheckpoint) {
  std::thread later([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    ::kill(::getpid(), SIGTERM);
  });
  auto result = train(options("run", 100'000'000));
  later.join();
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->signal, SIGTERM);
  EXPECT_EQ(listCheckpoints(path("run"))[0].step, result->steps);
  EXPECT_EQ(lines("run/metrics.jsonl").size(),
            static_cast<size_t>(result->steps));
}

TEST_F(Training, InfiniteLossEndsIt) {
  writeData("data.npz", INFINITY);
  Status status = train(options("run", 5)).status();
  EXPECT_EQ(status.code(), Code::Diverged);
  EXPECT_TRUE(listCheckpoints(path("run")).empty());
}

TEST_F(Training, TooFewSamplesAreRefused) {
  ASSERT_TRUE(writeTinyModel(path("m.dlc"), 1, 24).ok());
  Status status = train(options("run", 5)).status();
  EXPECT_EQ(status.code(), Code::Failed);
  EXPECT_NE(status.message().find("23 samples, expected at least 24"),
            std::string::npos)
      << status.message();
  EXPECT_FALSE(exists(path("run")));
}

TEST_F(Training, ValidationIsWrittenByEpoch) {
  TrainOptions o = options("run", 0);
  o.epochs = 2;
  o.val = path("data.npz");
  ASSERT_TRUE(train(o).ok());
  auto rows = lines("run/epochs.jsonl");
  ASSERT_EQ(rows.size(), 2u);
  auto row = *parseJson(rows[1]);
  EXPECT_EQ(row["epoch"], 2);
  EXPECT_EQ(row["step"], 22);
  EXPECT_NEAR(row["val_loss"].get<double>(), 4 * 11.0 / 7, 1e-5);
  EXPECT_TRUE(row.contains("ema_accuracy"));
}

class Ranks : public Training {
protected:
  // The outcome of each of two ranks; `change` makes their options differ.
  std::vector<Status>
  trainTwo(TrainOptions options,
           const std::function<void(int, TrainOptions &)> &change = {}) {
    EXPECT_TRUE(writeTinyModel(path("two.dlc"), 2, 2).ok());
    options.artifact = path("two.dlc");
    std::vector<Status> outcomes(2);
    const auto meeting = meetHere(2);
    EXPECT_TRUE(meeting.ok()) << meeting.status().message();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank, own = options]() mutable {
        Rendezvous place = *meeting;
        place.rank = rank;
        auto ranks = makeGlooCommunicator(place);
        ASSERT_TRUE(ranks.ok()) << ranks.status().message();
        if (change)
          change(rank, own);
        outcomes[static_cast<size_t>(rank)] = train(own, ranks->get()).status();
      });
    for (std::thread &thread : threads)
      thread.join();
    return outcomes;
  }
};

// Two ranks with batch 2 follow one rank with batch 4.
TEST_F(Ranks, TwoEqualOne) {
  ASSERT_TRUE(writeTinyModel(path("one.dlc"), 1, 4).ok());
  TrainOptions o = options("one", 12);
  o.artifact = path("one.dlc");
  ASSERT_TRUE(train(o).ok());
  for (const Status &outcome : trainTwo(options("two", 12)))
    ASSERT_TRUE(outcome.ok()) << outcome.message();
  auto one = lines("one/metrics.jsonl"), two = lines("two/metrics.jsonl");
  ASSERT_EQ(one.size(), two.size());
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_NEAR((*parseJson(one[i]))["loss"], (*parseJson(two[i]))["loss"],
                1e-4);
}

TEST_F(Ranks, DifferentJobsAreFoundAtTheStart) {
  auto outcomes = trainTwo(options("run", 5), [](int rank, TrainOptions &o) {
    o.seed = static_cast<uint64_t>(rank);
  });
  for (const Status &outcome : outcomes) {
    EXPECT_EQ(outcome.code(), Code::Incompatible);
    EXPECT_NE(outcome.message().find("rank 1"), std::string::npos);
  }
  EXPECT_FALSE(exists(path("run")));
}

TEST_F(Ranks, AnErrorOfOneIsTheErrorOfAll) {
  auto outcomes = trainTwo(options("run", 5), [&](int rank, TrainOptions &o) {
    if (rank == 1)
      o.data = path("none.npz");
  });
  for (const Status &outcome : outcomes) {
    EXPECT_EQ(outcome.code(), Code::Failed);
    EXPECT_NE(outcome.message().find("none.npz"), std::string::npos);
  }
}

class Sessions : public Training {
protected:
  std::unique_ptr<Session> open(Session::Options options = {}) {
    auto session = Session::open(path("m.dlc"), options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    return *std::move(session);
  }
  Dataset data(const Session &session, const char *program) {
    auto data = openDataset(path("data.npz"), session.plan(), program, {});
    EXPECT_TRUE(data.ok()) << data.status().message();
    return *std::move(data);
  }
};

TEST_F(Sessions, EvaluateCountsRealSamplesOnly) {
  auto session = open();
  auto result = session->evaluate(data(*session, "eval_step"));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->samples, kSamples);
  EXPECT_NEAR(result->loss, 4 * 11.0 / 7, 1e-6);
  EXPECT_NEAR(*result->accuracy, 11.0 / 7, 1e-6);
}

TEST_F(Sessions, PredictKeepsTheOrder) {
  auto session = open({.averages = true});
  auto outputs = session->predict(data(*session, "predict"));
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  ASSERT_EQ(outputs->size(), 1u);
  const Session::Output &output = (*outputs)[0];
  EXPECT_EQ(output.name, "logits");
  EXPECT_EQ(output.shape, (std::vector<int64_t>{kSamples, 4}));
  auto *values = reinterpret_cast<const float *>(output.bytes.data());
  for (int64_t i = 0; i < kSamples; ++i)
    EXPECT_NEAR(values[i * 4], static_cast<float>(i) / 7 + 7, 1e-6);
}

TEST_F(Sessions, AModelForTwoRanksIsEvaluatedByOne) {
  ASSERT_TRUE(writeTinyModel(path("m.dlc"), 2).ok());
  auto session = open();
  EXPECT_TRUE(session->evaluate(data(*session, "eval_step")).ok());
  EXPECT_FALSE(session->trainStep(Batch()).ok());
}

TEST_F(Sessions, StateOfAnotherModelIsRefused) {
  plan::Plan plan = tinyPlan(1, 3);
  ASSERT_TRUE(writeTinyState(path("other"), plan, 0, 0).ok());
  auto session = open();
  Status status = session->load(path("other"));
  EXPECT_EQ(status.code(), Code::Incompatible);
  EXPECT_NE(status.message().find("'tenth'"), std::string::npos);
}

} // namespace
