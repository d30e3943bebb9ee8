// SPDX-License-Identifier: Apache-2.0
// Each recorder of runtime/train/record, told of a run's events.
#include "runtime/train/record/Recorders.h"

#include "runtime/base/process/Log.h"
#include "runtime/device/TuneChoices.h"
#include "test/unit/TempFolder.h"
#include "test/unit/TinyModel.h"

using namespace dlc;
using namespace dlc::test;

namespace {

class Record : public TempFolder {
protected:
  void SetUp() override {
    setQuiet(false);
    options.artifact = path("m.dlc");
    options.data = path("data.npz");
    options.steps = 10;
    options.threads = 1;
    constexpr int64_t kSamples = 8;
    const std::vector<float> x(4 * kSamples, 1);
    const std::vector<int64_t> y(kSamples, 0);
    ASSERT_TRUE(writeTinyModel(options.artifact).ok());
    ASSERT_TRUE(
        writeNpz(options.data,
                 {{"x", DType::F32, {kSamples, 4}, std::as_bytes(std::span(x))},
                  {"y", DType::I64, {kSamples}, std::as_bytes(std::span(y))}})
            .ok());
    ASSERT_TRUE(makeFolder(path("run")).ok());
  }
  void TearDown() override {
    setLogJson(false);
    setQuiet(true);
  }

  // What `open` makes for a run of the options at `progress`.
  MadeRecorder made(MadeRecorder (*open)(const Recorded &)) {
    DLC_ASSIGN(setup, RunSetup::make(options, hooks, *ranks));
    DLC_TRY(setup->prepare());
    setup->beginAt(progress);
    return open({*setup, run, progress});
  }
  std::unique_ptr<Recorder> recorder(MadeRecorder (*open)(const Recorded &)) {
    auto result = made(open);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result ? *std::move(result) : nullptr;
  }

  StepEvent step(int64_t number, double loss) {
    values = {loss, 0.25};
    StepEvent event;
    event.step = number;
    event.total = 10;
    event.names = names;
    event.values = values;
    event.samplesPerSecond = 4;
    event.samples = 2;
    event.seconds = 0.5;
    event.waited = 0.125;
    event.shareWaited = 0.25;
    return event;
  }
  static ValidationEvent validation(int64_t epoch, int64_t at) {
    ValidationEvent event;
    event.epoch = epoch;
    event.step = at;
    event.values = {{"val_loss", 0.5}, {"val_accuracy", 0.75}};
    return event;
  }
  std::string file(const std::string &name) const {
    const auto text = readFile(run + "/" + name);
    EXPECT_TRUE(text.ok()) << text.status().message();
    return text ? *text : "";
  }
  template <class Act> static std::string said(const Act &act) {
    testing::internal::CaptureStderr();
    act();
    return testing::internal::GetCapturedStderr();
  }

  std::unique_ptr<Communicator> ranks = makeSingleCommunicator();
  TrainOptions options;
  TrainHooks hooks;
  std::unique_ptr<RunSetup> setup;
  Progress progress;
  const std::string run = path("run");
  const std::vector<std::string> names = {"loss", "lr"};
  std::vector<double> values;
};

TEST_F(Record, RunLinesGoOnBehindTheStepOfTheRun) {
  const std::string kept = "{\"step\": 1}\n";
  ASSERT_TRUE(
      writeNewFile(run + "/metrics.jsonl", kept + "{\"step\": 2}\n").ok());
  progress.step = 1;
  const auto lines = recorder(openRunLines);
  lines->onStep(step(2, 0.5));
  lines->onStepBeforeError(step(3, NAN));
  EXPECT_EQ(file("metrics.jsonl"),
            kept + "{\"step\": 2, \"loss\": 0.5, \"lr\": 0.25, "
                   "\"samples_per_second\": 4, \"data_wait\": 0.125}\n"
                   "{\"step\": 3, \"loss\": null, \"lr\": 0.25, "
                   "\"samples_per_second\": 4, \"data_wait\": 0.125}\n");
}

TEST_F(Record, RunLinesHaveOneForEachValidation) {
  const auto lines = recorder(openRunLines);
  lines->onEpoch({1, 4, true, {}});
  lines->onValidation(validation(2, 8));
  EXPECT_EQ(file("epochs.jsonl"), "{\"epoch\": 2, \"step\": 8, \"val_loss\": "
                                  "0.5, \"val_accuracy\": 0.75}\n");
}

TEST_F(Record, ClassesAreOfTheLastValidationThatHasSome) {
  const auto classes = recorder(openRunLines);
  ValidationEvent event = validation(1, 4);
  classes->onValidation(event);
  event.judgement.emplace();
  classes->onValidation(event);
  EXPECT_FALSE(exists(run + "/classes.json"));
  event.judgement->confusion = {{3, 1}, {0, 4}};
  classes->onValidation(event);
  const Json json = *parseJson(file("classes.json"));
  EXPECT_EQ(json["step"], 4);
  EXPECT_EQ(json["confusion"][0][1], 1);
}

TEST_F(Record, CsvHasTheMeanLossOfAnEpoch) {
  const auto csv = recorder(openCsv);
  csv->onStep(step(1, 1));
  csv->onStep(step(2, 2));
  csv->onEpoch(validation(1, 2));
  const std::string text = file("results.csv");
  EXPECT_TRUE(text.starts_with(
      "epoch,step,time,train_loss,val_loss,val_accuracy,lr\n1,2,"))
      << text;
  EXPECT_TRUE(text.ends_with(",1.5,0.5,0.75,0.25\n")) << text;
}

TEST_F(Record, StatisticsNeedAModelThatHasThem) {
  EXPECT_EQ(recorder(openStatistics), nullptr);
  options.statsEvery = 5;
  const auto refused = made(openStatistics);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(),
            "--stats-every needs a model that was compiled with --stats");
}

TEST_F(Record, EventsAreRecordsForTensorBoard) {
  EXPECT_EQ(recorder(openEvents), nullptr);
  options.tensorboard = true;
  const auto events = recorder(openEvents);
  events->onStep(step(1, 0.5));
  std::string text;
  for (const auto &entry :
       std::filesystem::directory_iterator(run + "/tensorboard"))
    text += *readFile(entry.path().string());
  EXPECT_NE(text.find("brain.Event:2"), text.npos);
  EXPECT_NE(text.find("train/loss"), text.npos);
}

TEST_F(Record, PrometheusHasTheNewestNumbers) {
  EXPECT_EQ(recorder(openPrometheus), nullptr);
  options.prometheus = run + "/dlc.prom";
  auto prometheus = recorder(openPrometheus);
  prometheus->onStep(step(1, 0.5));
  prometheus->onStep(step(2, 0.25));
  prometheus.reset();
  const std::string text = file("dlc.prom");
  EXPECT_NE(text.find("dlc_step{run=\"" + run + "\"} 2\n"), text.npos) << text;
  EXPECT_NE(text.find("metric=\"loss\"} 0.25\n"), text.npos) << text;
}

TEST_F(Record, BarSaysWhereTheRunIs) {
  options.logEvery = 2;
  const auto bar = recorder(openBar);
  const std::string text = said([&] {
    bar->onStart(progress);
    bar->onStep(step(1, 0.5));
    bar->onStep(step(2, 0.25));
    bar->onPause();
  });
  EXPECT_TRUE(text.starts_with("epoch 1  step 2/10  ")) << text;
  EXPECT_NE(text.find("  loss 0.25  lr 0.25  data wait 25 %  "), text.npos)
      << text;
  options.quiet = true;
  EXPECT_EQ(recorder(openBar), nullptr);
}

TEST_F(Record, JsonLogHasAnObjectAnEpoch) {
  EXPECT_EQ(recorder(openJsonLog), nullptr);
  setLogJson(true);
  EXPECT_EQ(recorder(openBar), nullptr);
  options.logEvery = 1;
  const auto log = recorder(openJsonLog);
  const std::string progressText = said([&] { log->onStep(step(1, NAN)); });
  const Json object = *parseJson(progressText);
  EXPECT_EQ(object["event"], "progress");
  EXPECT_EQ(object["steps"], 10);
  EXPECT_TRUE(object["loss"].is_null());
  const std::string epoch = said([&] { log->onEpoch(validation(1, 4)); });
  EXPECT_EQ((*parseJson(epoch))["values"]["val_accuracy"], 0.75);
}

TEST_F(Record, HookCallsEndTheRunOnce) {
  int epochs = 0;
  hooks.onStep = [](const StepEvent &event) { return event.step < 2; };
  hooks.onEpoch = [&](const EpochEvent &) { return ++epochs > 0; };
  const auto calls = recorder(openHookCalls);
  calls->onStep(step(1, 1));
  EXPECT_FALSE(calls->wantsEnd());
  calls->onStep(step(2, 1));
  EXPECT_TRUE(calls->wantsEnd());
  EXPECT_FALSE(calls->wantsEnd());
  calls->onEpoch({1, 4, true, {}});
  calls->onEpoch({1, 6, false, {}}); // the run ends within it
  EXPECT_EQ(epochs, 1);
}

TEST_F(Record, ProfileIsWrittenOfStepsThatWereDone) {
  EXPECT_EQ(recorder(openProfile), nullptr);
  options.profile = true;
  const auto profile = recorder(openProfile);
  profile->onEnd({});
  EXPECT_FALSE(exists(run + "/profile.json"));
  Steps steps(*setup, progress);
  Loader loader(setup->data.sets, setup->sampling, 0, 2);
  for (int i = 0; i < 2; ++i) { // the first, which binds, is not profiled
    ASSERT_TRUE(steps.start(loader).ok());
    ASSERT_TRUE(steps.read().ok());
  }
  profile->onStep(step(2, 1));
  const std::string text = said([&] { profile->onEnd({}); });
  EXPECT_NE(text.find("all commands of a train_step"), text.npos) << text;
  const Json commands = *parseJson(file("profile.json"));
  ASSERT_FALSE(commands.empty());
  EXPECT_EQ(commands[0]["calls"], 1);
  EXPECT_TRUE(exists(run + "/trace.json"));
}

TEST_F(Record, DataWaitIsToldWhenItIsMuch) {
  const auto wait = recorder(openMessages);
  EXPECT_EQ(said([&] { wait->onEnd({0.05}); }), "");
  const std::string text = said([&] { wait->onEnd({0.5}); });
  EXPECT_NE(text.find("data-bound: 50 % of the time"), text.npos) << text;
}

RankTime rankTime(double waited, double computed, double blocked, double made,
                  const char *host = "a") {
  return {host, waited + computed + blocked, waited, computed, blocked, made};
}

TEST_F(Record, TheRankThatOthersWaitForIsNamed) {
  const RankTime usual = rankTime(0, 0.05, 0.05, 0.01);
  const SlowRank slow =
      slowRank(std::vector{usual, rankTime(0, 0.09, 0.01, 0.01, "b"), usual});
  EXPECT_EQ(slow.rank, 1);
  EXPECT_FALSE(slow.isWaiting);
  EXPECT_EQ(slow.text, "rank 1 (host b) computes 1.8 times as long as the "
                       "median rank: the others wait 40 of 100 ms a step for "
                       "it");
  // Of two, the other one is what a rank is compared with.
  EXPECT_EQ(slowRank(std::vector{rankTime(0, 0.09, 0.01, 0.01), usual}).text,
            "rank 0 computes 1.8 times as long as the median rank: the others "
            "wait 40 of 100 ms a step for it");
  EXPECT_EQ(slowRank(std::vector{usual, usual, usual}).rank, -1);
  EXPECT_EQ(slowRank(std::vector{usual, rankTime(0, 0.059, 0.041, 0)}).rank,
            -1);
}

TEST_F(Record, TheRankWhoseSamplesComeLateIsNamed) {
  const RankTime usual = rankTime(0.002, 0.05, 0.048, 0.052);
  const SlowRank slow =
      slowRank(std::vector{usual, usual, rankTime(0.04, 0.05, 0.01, 0.09)});
  EXPECT_TRUE(slow.isWaiting);
  EXPECT_EQ(slow.text, "rank 2 waits 40 ms a step for samples, the median rank "
                       "2 ms: the others wait 38 of 100 ms a step for it");
  // The last one of those that make them equally fast, for whom alone the
  // others' samples are ready in time.
  EXPECT_EQ(slowRank(std::vector{rankTime(0, 0.05, 0.048, 0.089),
                                 rankTime(0.04, 0.05, 0.01, 0.09)})
                .rank,
            -1);
  // A GPU does not say what it waits for.
  const RankTime gpu{"a", 0.1, 0, NAN, NAN, 0.05};
  const SlowRank late =
      slowRank(std::vector{gpu, RankTime{"a", 0.1, 0.05, NAN, NAN, 0.1}, gpu});
  EXPECT_EQ(late.rank, 1);
  EXPECT_TRUE(late.isWaiting);
  EXPECT_EQ(slowRank(std::vector{gpu, gpu}).rank, -1);
}

TEST_F(Record, TuningIsWrittenIfThereWasAChoice) {
  const auto tuning = recorder(openTuning);
  tuning->onStart(progress);
  EXPECT_FALSE(exists(run + "/tuning.json"));
  setup->options.tune.choices->add({}, TuneEntry{.engine = "7"}, "convolution");
  tuning->onEnd({});
  EXPECT_NE(file("tuning.json").find("convolution"), std::string::npos);
}

TEST_F(Record, MessagesTellHowARunBeginsAndWhatWasAsked) {
  const auto messages = recorder(openMessages);
  const std::string begin = said([&] { messages->onStart(progress); });
  EXPECT_NE(begin.find("run " + run +
                       ": 10 steps of 2 samples (4 an epoch of 8), 1 rank\n"),
            begin.npos)
      << begin;
  const std::string epoch =
      said([&] { messages->onValidation(validation(1, 4)); });
  EXPECT_NE(epoch.find("epoch 1: val loss 0.5000 accuracy 75.00 %\n"),
            epoch.npos)
      << epoch;
  progress.step = 5;
  EXPECT_EQ(said([&] { messages->onSaved({progress, true, false}); }), "");
  const std::string asked = said([&] {
    messages->onSaved({progress, true, true});
  });
  EXPECT_NE(asked.find("asked by a signal: wrote checkpoint-5\n"), asked.npos)
      << asked;
}

} // namespace
