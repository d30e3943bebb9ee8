// SPDX-License-Identifier: Apache-2.0
// Whole runs on the third device, which two lines register, against the CPU's.
#include "test/pretend/third_device/Registered.h"

#include "compiler/driver/Compiler.h"
#include "runtime/base/files/Files.h"
#include "runtime/collective/Communicator.h"
#include "runtime/data/Npy.h"
#include "runtime/train/Trainer.h"
#include "runtime/train/session/Inputs.h"
#include "runtime/train/session/Session.h"

#include <nlohmann/json.hpp>

#include <random>
#include <sstream>

namespace dlc::test {
namespace {

const std::string kModels = DLC_MODELS;

struct Model {
  std::string name, data; // no data: images are made up
};

class FakeTraining : public Registered,
                     public testing::WithParamInterface<Model> {
protected:
  std::string data() const {
    if (!GetParam().data.empty())
      return kModels + "/" + GetParam().data;
    const std::string file = path("data.npz");
    constexpr int64_t kImages = 96, kPixels = 3 * 32 * 32;
    std::vector<float> x(kImages * kPixels);
    std::vector<int64_t> y(kImages);
    std::mt19937 random(1);
    for (float &value : x)
      value = static_cast<float>(random() % 256) / 255;
    for (int64_t &label : y)
      label = static_cast<int64_t>(random() % 10);
    const Status written = writeNpz(
        file,
        {{"x", DType::F32, {kImages, 3, 32, 32}, std::as_bytes(std::span(x))},
         {"y", DType::I64, {kImages}, std::as_bytes(std::span(y))}});
    EXPECT_TRUE(written.ok()) << written.message();
    return file;
  }
  // Compiles for a target; path of the artifact.
  std::string artifact(const std::string &target) {
    CompileOptions options;
    options.model = kModels + "/" + GetParam().name + ".onnx";
    options.output = path(target + ".dlc");
    options.batches = {16};
    options.train.target.name = target;
    options.train.ema.enabled = true;
    const auto result = compile(options);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return options.output;
  }
  TrainOptions training(const std::string &target) {
    TrainOptions options;
    options.artifact = artifact(target);
    options.data = data();
    options.run = path("run-" + target);
    options.steps = 6;
    options.saveEvery = 3;
    options.quiet = true;
    options.threads = 2;
    return options;
  }
  // The loss of each step.
  static std::vector<double> losses(const std::string &run) {
    std::istringstream lines(readFile(run + "/metrics.jsonl").value());
    std::vector<double> result;
    for (std::string line; std::getline(lines, line);)
      result.push_back(nlohmann::json::parse(line)["loss"].get<double>());
    return result;
  }
  static void train(const TrainOptions &options) {
    auto alone = makeSingleCommunicator();
    auto trainer = Trainer::create(options, *alone);
    ASSERT_TRUE(trainer.ok()) << trainer.status().message();
    const auto result = (*trainer)->run();
    ASSERT_TRUE(result.ok()) << result.status().message();
  }
  // The loss of the averages.
  double evaluate(const std::string &run) {
    auto session = Session::open(run, {.threads = 2, .averages = 1});
    EXPECT_TRUE(session.ok()) << session.status().message();
    auto samples =
        openDataset(data(), (*session)->plan(), "eval_step", SampleOptions());
    EXPECT_TRUE(samples.ok()) << samples.status().message();
    auto result = (*session)->evaluate(*samples);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result->loss;
  }
};

TEST_P(FakeTraining, HasTheNumbersOfTheCpu) {
  const TrainOptions cpu = training("cpu"), fake = training("fake");
  train(cpu);
  train(fake);
  const auto expected = losses(cpu.run), found = losses(fake.run);
  ASSERT_EQ(found.size(), 6u);
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 2e-5 * expected[i]) << "step " << i + 1;
  const double loss = evaluate(cpu.run);
  EXPECT_NEAR(evaluate(fake.run), loss, 2e-5 * loss);
}

TEST_P(FakeTraining, ResumesWithTheSameBits) {
  TrainOptions whole = training("fake"), part = whole, rest;
  train(whole);
  part.run = path("part");
  part.steps = 3;
  train(part);
  rest.resume = part.run;
  rest.steps = 6;
  rest.given = {"run.steps"};
  auto options = resumeOptions(rest);
  ASSERT_TRUE(options.ok()) << options.status().message();
  options->quiet = true;
  train(*options);
  EXPECT_EQ(losses(part.run), losses(whole.run));
}

TEST(Devices, AnUnknownOneIsRefused) {
  const auto device = makeDevice("other", {});
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.status().code(), Code::Incompatible);
  EXPECT_EQ(device.status().message(),
            "compiled for device 'other', which this build cannot run; compile "
            "the model again with --target=cpu");
}

// The host must not add up what it cannot see.
TEST(Devices, OnesThatCannotReduceAreRefused) {
  FakeDevice device(1);
  auto ranks = makeSingleCommunicator();
  const auto reducer =
      makeReducer("fake", device, *ranks, std::chrono::milliseconds(100));
  ASSERT_FALSE(reducer.ok());
  EXPECT_EQ(reducer.status().code(), Code::Incompatible);
}

INSTANTIATE_TEST_SUITE_P(Models, FakeTraining,
                         testing::Values(Model{"mlp", "digits-test.npz"},
                                         Model{"lenet", "mnist-test.npz"},
                                         Model{"resnet8", ""},
                                         Model{"gpt_tiny", "text-test.npz"}),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace dlc::test
