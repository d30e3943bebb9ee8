// SPDX-License-Identifier: Apache-2.0
// The options of a run, in its config.yaml and when it is resumed.
#include "runtime/train/TrainOptions.h"

#include "runtime/base/files/Files.h"

#include <algorithm>
#include <filesystem>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

using namespace dlc;

namespace {

TEST(Options, GoThereAndBack) {
  TrainOptions options;
  options.data = "a \"b\": c\n";
  options.seed = UINT64_MAX;
  options.samples.scale = 0.1;
  options.samples.mean = {0.485, 1.0 / 3};
  options.samples.augmentation.crop = CropKind::Padded;
  options.samples.augmentation.jitter.hue = 0.25;
  options.samples.randomErase = 0.1;
  options.shuffle = false;
  options.metrics = {"f1.micro", "top5"};
  options.saveSeconds = 90;
  std::string path = testing::TempDir() + "dlc-options.yaml";
  ASSERT_TRUE(writeFileAtomically(path, toYaml(options)).ok());
  auto back = optionsFromYaml(path);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->data, options.data);
  EXPECT_EQ(back->seed, options.seed);
  EXPECT_EQ(back->samples.scale, options.samples.scale);
  EXPECT_EQ(textOf(back->samples), textOf(options.samples));
  EXPECT_EQ(textOf(back->samples),
            "scale 0.1, mean [0.485, 0.3333333333333333], crop padded, "
            "color-jitter [0, 0, 0, 0.25], random-erase 0.1");
  EXPECT_EQ(back->shuffle, false);
  EXPECT_EQ(back->metrics, options.metrics);
  EXPECT_EQ(back->saveSeconds, options.saveSeconds);
  EXPECT_TRUE(back->missing.empty());
  for (std::string text : {"", "[1", "{steps: 3}", "- 1", "data: [1, 2]\n",
                           "{data: x, stepz: 3}"}) {
    ASSERT_TRUE(writeFileAtomically(path, text).ok());
    EXPECT_EQ(optionsFromYaml(path).status().code(), Code::Corrupt) << text;
  }
  std::filesystem::remove(path);
}

// A flag that was given wins, also with the value that it has by default.
TEST(Options, WhatIsGivenWinsOverTheRun) {
  const std::string run = testing::TempDir() + "dlc-given";
  ASSERT_TRUE(makeFolder(run).ok());
  ASSERT_TRUE(makeFolder(run + "/model.dlc").ok());
  ASSERT_TRUE(
      writeFileAtomically(run + "/config.yaml",
                          "{data: x, keep: 9, timeout: 5, max_skips: 2, "
                          "epochs: 7, tf32: true, bn_buffers: mean}")
          .ok());
  TrainOptions given;
  given.resume = run;
  auto own = resumeOptions(given);
  ASSERT_TRUE(own.ok()) << own.status().message();
  EXPECT_EQ(own->keep, 9);
  EXPECT_EQ(own->bnBuffers, "mean");
  EXPECT_TRUE(own->tune.tf32);
  given.given = {"run.keep", "run.timeout", "run.max-skips", "run.tf32",
                 "run.bn-buffers"};
  auto merged = resumeOptions(given);
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->keep, given.keep);
  EXPECT_EQ(merged->timeout, given.timeout);
  EXPECT_EQ(merged->maxSkips, given.maxSkips);
  EXPECT_EQ(merged->bnBuffers, "broadcast");
  EXPECT_FALSE(merged->tune.tf32);
  EXPECT_EQ(merged->epochs, 7);
  given.given = {"run.steps"};
  given.steps = 3;
  merged = resumeOptions(given);
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->steps, 3);
  EXPECT_EQ(merged->epochs, 0);
  std::filesystem::remove_all(run);
}

// Text that dlc wrote before options were rows.
TEST(Options, OfAnOlderRunAreRead) {
  std::string path = testing::TempDir() + "dlc-older.yaml";
  ASSERT_TRUE(writeFileAtomically(
                  path, "artifact: \"/m.dlc\"\ndata: \"/x.npz\"\nval: \"\"\n"
                        "steps: 0\nepochs: 10\nshuffle: false\n"
                        "seed: 18446744073709551615\nscale: ~\n"
                        "save_every: 0\nkeep: 3\nthreads: 2\ntimeout: 60\n"
                        "log_every: 0\nmax_skips: 10\ntf32: false\n"
                        "bn_buffers: \"mean\"\n")
                  .ok());
  auto options = optionsFromYaml(path);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->artifact, "/m.dlc");
  EXPECT_EQ(options->val, "");
  EXPECT_FALSE(options->shuffle);
  EXPECT_EQ(options->seed, UINT64_MAX);
  EXPECT_EQ(options->samples.scale, std::nullopt);
  EXPECT_EQ(options->bnBuffers, "mean");
  EXPECT_EQ(
      fmt::format("{}", fmt::join(options->missing, " ")),
      "state data_command data_timeout batch mean std interpolation crop_pct "
      "tokens tokenizer special_tokens pack bad_samples "
      "columns classes pad "
      "crop crop_scale crop_ratio crop_padding hflip vflip "
      "color_jitter random_erase mixup "
      "cutmix after_save check_ranks stats_every "
      "tensorboard prometheus "
      "metrics best patience min_delta hierarchical_all_reduce zero_group");
  EXPECT_TRUE(toYaml(*options).starts_with(
      "artifact: /m.dlc\nstate: \"\"\ndata: /x.npz\ndata_command: \"\"\n"
      "data_timeout: 60\nval: \"\"\nsteps: 0\n"
      "epochs: 10\nbatch: 0\nshuffle: off\nseed: 18446744073709551615\n"
      "scale: null\nmean: []\nstd: []\ninterpolation: bilinear\n"
      "crop_pct: 1\ntokens: auto\ntokenizer: \"\"\n"
      "special_tokens: none\npack: 0\nbad_samples: error\n"
      "columns: \"\"\nclasses: []\npad: []\ncrop: center\n"));
  std::filesystem::remove(path);
}

TEST(Options, OutOfRangeAreRefused) {
  std::string path = testing::TempDir() + "dlc-range.yaml";
  for (std::string text :
       {"keep: 0", "keep: -3", "steps: -1", "epochs: -1", "timeout: .nan",
        "timeout: 0", "threads: -1", "max_skips: 0", "bn_buffers: none"}) {
    ASSERT_TRUE(writeFileAtomically(path, "data: x\n" + text + "\n").ok());
    const Status status = optionsFromYaml(path).status();
    EXPECT_EQ(status.code(), Code::Corrupt) << text;
    EXPECT_NE(status.message().find(text.substr(0, text.find(':'))),
              std::string::npos)
        << status.message();
  }
  std::filesystem::remove(path);
}

TEST(Options, OfAnOlderVersionHaveDefaults) {
  std::string path = testing::TempDir() + "dlc-old-options.yaml";
  ASSERT_TRUE(writeFileAtomically(path, "data: x\nseed: 3\nsteps: 5\n").ok());
  auto options = optionsFromYaml(path);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->seed, 3u);
  EXPECT_EQ(options->maxSkips, TrainOptions().maxSkips);
  EXPECT_TRUE(options->shuffle);
  EXPECT_NE(
      std::find(options->missing.begin(), options->missing.end(), "max_skips"),
      options->missing.end());
  std::filesystem::remove(path);
}

} // namespace
