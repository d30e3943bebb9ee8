// SPDX-License-Identifier: Apache-2.0
// What becomes of samples on their way to a step: the same for a seed, an epoch
// and a sample, whoever asks and however they are stored.
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/data/Loader.h"
#include "runtime/data/Mix.h"
#include "runtime/data/pictures/PictureSource.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace dlc;
using testing::HasSubstr;

namespace {

constexpr int64_t kCount = 24, kSide = 12;

Array bytesOf(std::vector<int64_t> shape) {
  const auto count = size_t(*checkedElements(shape));
  auto bytes = std::make_shared<std::vector<std::byte>>(count);
  for (size_t i = 0; i < count; ++i)
    (*bytes)[i] = std::byte(i * i / 7 + i * 31);
  return {DType::U8, std::move(shape), {*bytes, bytes}};
}

std::shared_ptr<const Source> pictures(std::vector<int64_t> shape) {
  return sourceOf("pictures", {{"x", bytesOf(std::move(shape))}});
}

SampleOptions everything() {
  SampleOptions options;
  options.mean = {0.485, 0.456, 0.406};
  options.std = {0.229, 0.224, 0.225};
  options.randomErase = 0.5;
  Augmentation &a = options.augmentation;
  a.crop = CropKind::Random;
  a.hflip = a.vflip = 0.5;
  a.jitter = {0.4, 0.4, 0.4, 0.1};
  return options;
}

Dataset open(const SampleOptions &options, int64_t batch) {
  auto source =
      augmentedArray(pictures({kCount, 3, kSide, kSide}), "x", options);
  EXPECT_TRUE(source.ok());
  auto data = Dataset::open(
      *source, {{"x", DType::F32, {batch, 3, kSide, kSide}}}, batch, options);
  EXPECT_TRUE(data.ok()) << data.status().message();
  return *std::move(data);
}

// The bytes of steps [first, last), those of all ranks in their order.
std::vector<std::byte> load(Sampling sampling, int workers, int64_t first,
                            int64_t last,
                            const SampleOptions &options = everything()) {
  Dataset data = open(options, sampling.batch);
  data.setWorkers(workers, 1);
  std::vector<std::vector<std::byte>> parts;
  for (sampling.rank = 0; sampling.rank < sampling.world; ++sampling.rank) {
    Loader loader(std::span(&data, 1), sampling, first, last);
    for (size_t step = 0;; ++step) {
      const auto batch = loader.next();
      EXPECT_TRUE(batch.ok());
      if (!batch.ok() || !*batch)
        break;
      parts.resize(std::max(parts.size(), step + 1));
      parts[step].insert(parts[step].end(), (**batch).batch[0].begin(),
                         (**batch).batch[0].end());
    }
  }
  std::vector<std::byte> all;
  for (const auto &part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(Samples, AreTheSameForAnyWorkersAndRanks) {
  const auto one = load({.batch = 6, .seed = 3}, 1, 0, 12);
  EXPECT_EQ(one.size(), 12u * 6 * 3 * kSide * kSide * sizeof(float));
  EXPECT_EQ(load({.batch = 6, .seed = 3}, 4, 0, 12), one);
  EXPECT_EQ(load({.batch = 3, .world = 2, .seed = 3}, 2, 0, 12), one);
  EXPECT_EQ(load({.batch = 2, .world = 3, .seed = 3}, 1, 0, 12), one);
  EXPECT_NE(load({.batch = 6, .seed = 4}, 1, 0, 12), one);
  const auto rest = load({.batch = 6, .seed = 3}, 2, 5, 12);
  EXPECT_TRUE(std::equal(rest.rbegin(), rest.rend(), one.rbegin()));
}

TEST(Samples, DifferByEpochAndAreNotDrawnInEvaluation) {
  const Dataset data = open(everything(), 1);
  const Column &column = data.columns()[0];
  const auto read = [&](const TrainingPass *pass) {
    std::vector<std::byte> bytes(column.sampleBytes());
    EXPECT_TRUE(column.copySample(5, pass, bytes.data()).ok());
    return bytes;
  };
  const TrainingPass first{1, 0}, second{1, 1};
  EXPECT_EQ(read(&first), read(&first));
  EXPECT_NE(read(&first), read(&second));
  const auto plain = read(nullptr);
  float value;
  std::memcpy(&value, plain.data() + 4, sizeof value);
  const auto byte = size_t(5 * 3 * kSide * kSide + 1);
  const auto stored = uint8_t(byte * byte / 7 + byte * 31);
  EXPECT_EQ(value, (float(stored) / 255 - 0.485F) / 0.229F);
}

// Bytes 0 to 255 by torchvision's ToTensor and Normalize: division by 255, and
// f32 throughout.
TEST(Samples, NormalizeAsTorchvision) {
  SampleOptions options;
  options.mean = {0.485, 0.456, 0.406};
  options.std = {0.229, 0.224, 0.225};
  for (const bool planar : {true, false}) {
    const std::vector<int64_t> shape = planar
                                           ? std::vector<int64_t>{1, 3, 16, 16}
                                           : std::vector<int64_t>{1, 16, 16, 3};
    auto bytes = std::make_shared<std::vector<std::byte>>(768);
    for (size_t i = 0; i < 768; ++i)
      (*bytes)[i] = std::byte(planar ? i % 256 : i / 3);
    const auto source =
        sourceOf("bytes", {{"x", Array{DType::U8, shape, {*bytes, bytes}}}});
    auto data = Dataset::open(source, {{"x", DType::F32, shape}}, 1, options);
    ASSERT_TRUE(data.ok()) << data.status().message();
    std::vector<float> found(768);
    ASSERT_TRUE(
        data->columns()[0]
            .copySample(0, nullptr, reinterpret_cast<std::byte *>(found.data()))
            .ok());
    for (size_t c = 0; c < 3; ++c)
      for (size_t i = 0; i < 256; ++i)
        ASSERT_EQ(found[planar ? c * 256 + i : i * 3 + c],
                  (float(i) / 255 - float(options.mean[c])) /
                      float(options.std[c]));
  }
}

TEST(Samples, EraseABoxOfTheAreaAsked) {
  SampleOptions options;
  options.randomErase = 1;
  const Finish finish(options, {3, 40, 60});
  double area = 0;
  for (int64_t row = 0; row < 500; ++row) {
    std::vector<float> values(3 * 40 * 60, 1);
    const TrainingPass pass{5, 0};
    finish.apply(values, row, &pass);
    const auto zeros = std::count(values.begin(), values.end(), 0.0F);
    ASSERT_TRUE(zeros % 3 == 0 && zeros <= 3 * 40 * 60 / 2);
    area += double(zeros) / double(values.size());
  }
  EXPECT_NEAR(area / 500, 0.17, 0.02); // the tallest do not fit
  std::vector<float> values(3 * 40 * 60, 1);
  finish.apply(values, 0, nullptr);
  EXPECT_EQ(std::count(values.begin(), values.end(), 0.0F), 0);
}

TEST(Samples, GreyAndChannelsLastAreAugmentedToo) {
  SampleOptions options;
  options.augmentation.hflip = 1;
  for (const std::vector<int64_t> &shape :
       {std::vector<int64_t>{2, 1, 4, 6}, {2, 4, 6, 3}}) {
    const auto plain = pictures(shape);
    auto source = augmentedArray(plain, "x", options);
    ASSERT_TRUE(source.ok());
    const size_t bytes = size_t(*checkedElements(shape)) / 2;
    const size_t pixel = shape.back() == 3 ? 3 : 1;
    std::vector<std::byte> from(bytes), to(bytes);
    const TrainingPass pass;
    ASSERT_TRUE((*plain->rows("x"))->read(1, &pass, from.data()).ok());
    ASSERT_TRUE((*(*source)->rows("x"))->read(1, &pass, to.data()).ok());
    for (size_t y = 0; y < 4; ++y)
      for (size_t x = 0; x < 6; ++x)
        ASSERT_EQ(from[(y * 6 + x) * pixel], to[(y * 6 + 5 - x) * pixel]);
  }
}

TEST(Samples, OfOtherShapesAreRefused) {
  const auto refusal = [](std::vector<int64_t> shape) {
    return std::string(
        augmentedArray(pictures(std::move(shape)), "x", {}).status().message());
  };
  EXPECT_THAT(refusal({2, 784}), HasSubstr("cannot be augmented: expected"));
  EXPECT_THAT(refusal({2, 4, 4, 4}), HasSubstr("cannot be augmented"));
  EXPECT_THAT(refusal({2}), HasSubstr("cannot be augmented"));
}

// Of two steps: pictures of one byte each, f32, and shares of 4 classes.
struct Mixed {
  std::vector<float> x, y;
};

Mixed mixed(const SampleOptions &options, Sampling sampling) {
  constexpr int64_t kSamples = 16, kPixels = 36;
  auto x = std::make_shared<std::vector<std::byte>>(kSamples * kPixels);
  auto y = std::make_shared<std::vector<std::byte>>(kSamples);
  for (size_t i = 0; i < kSamples; ++i) {
    std::fill_n(x->begin() + long(i) * kPixels, kPixels, std::byte(i + 1));
    (*y)[i] = std::byte(i % 4);
  }
  const auto source =
      sourceOf("bytes", {{"x", {DType::U8, {kSamples, 1, 6, 6}, {*x, x}}},
                         {"y", {DType::U8, {kSamples}, {*y, y}}}});
  const int64_t batch = sampling.batch;
  InputSpec labels{"y", DType::F32, {batch, 4}};
  labels.isLabel = true;
  SampleOptions whole = options;
  whole.scale = 1;
  auto data = Dataset::open(
      source, {{"x", DType::F32, {batch, 1, 6, 6}}, labels}, batch, whole);
  EXPECT_TRUE(data.ok()) << data.status().message();
  Mixed result;
  std::vector<Mixed> parts;
  for (sampling.rank = 0; sampling.rank < sampling.world; ++sampling.rank) {
    Loader loader(std::span(&*data, 1), sampling, 0, 2);
    for (size_t at = 0;; ++at) {
      const auto found = loader.next();
      EXPECT_TRUE(found.ok());
      if (!found.ok() || !*found)
        break;
      parts.resize(std::max(parts.size(), at + 1));
      const auto add = [&](const std::vector<std::byte> &from,
                           std::vector<float> &to) {
        const auto *values = reinterpret_cast<const float *>(from.data());
        to.insert(to.end(), values, values + from.size() / sizeof(float));
      };
      add((**found).batch[0], parts[at].x),
          add((**found).batch[1], parts[at].y);
    }
  }
  for (const Mixed &part : parts) {
    result.x.insert(result.x.end(), part.x.begin(), part.x.end());
    result.y.insert(result.y.end(), part.y.begin(), part.y.end());
  }
  return result;
}

// Sample i of a step of 8, of 36 pixels: what share of it is its own.
TEST(Samples, MixUpBlendsWithTheOneBefore) {
  SampleOptions options;
  options.mixup = 1;
  const Sampling one{.batch = 8, .shuffle = false, .seed = 5};
  const Mixed found = mixed(options, one);
  ASSERT_EQ(found.x.size(), 2u * 8 * 36);
  for (size_t step = 0; step < 2; ++step) {
    const double share =
        drawMix(options, {6, 6}, {5, 0}, int64_t(step) * 8).share;
    for (size_t i = 0; i < 8; ++i) {
      const size_t own = step * 8 + i, other = step * 8 + (i + 7) % 8;
      const float x =
          float(other + 1) * float(1 - share) + float(own + 1) * float(share);
      for (size_t p = 0; p < 36; ++p)
        ASSERT_EQ(found.x[own * 36 + p], x);
      for (size_t c = 0; c < 4; ++c)
        ASSERT_EQ(found.y[own * 4 + c], (other % 4 == c) * float(1 - share) +
                                            (own % 4 == c) * float(share));
    }
  }
  const Mixed two =
      mixed(options, {.batch = 4, .world = 2, .shuffle = false, .seed = 5});
  EXPECT_EQ(two.x, found.x);
  EXPECT_EQ(two.y, found.y);
  const Mixed windows =
      mixed(options,
            {.batch = 2, .window = 2, .world = 2, .shuffle = false, .seed = 5});
  EXPECT_EQ(windows.x, found.x);
  EXPECT_EQ(windows.y, found.y);
}

TEST(Samples, CutMixPastesABox) {
  SampleOptions options;
  options.cutmix = 1;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Mixed found =
        mixed(options, {.batch = 8, .shuffle = false, .seed = seed});
    const MixDraw draw = drawMix(options, {6, 6}, {seed, 0}, 0);
    for (size_t i = 0; i < 8; ++i) {
      const auto own =
          std::count(found.x.begin() + long(i) * 36,
                     found.x.begin() + long(i) * 36 + 36, float(i + 1));
      ASSERT_EQ(own, 36 - draw.box.height * draw.box.width);
      ASSERT_FLOAT_EQ(found.y[i * 4 + i % 4], float(own) / 36);
    }
  }
}

TEST(Samples, BothMixHalfOfTheTimeEach) {
  SampleOptions options;
  options.mixup = 0.2, options.cutmix = 1;
  int cuts = 0;
  for (int64_t first = 0; first < 2000; ++first)
    cuts += drawMix(options, {32, 32}, {1, 0}, first).isCut;
  EXPECT_NEAR(cuts, 1000, 100);
}

// Mean 1/2, variance 1 / (4 (2 alpha + 1)).
TEST(Samples, SharesAreOfBeta) {
  for (const double alpha : {0.2, 1.0, 4.0}) {
    constexpr int kDraws = 20000;
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      SampleDraws draws(3, 0, i, 5);
      const double share = drawBeta(alpha, draws);
      ASSERT_TRUE(share >= 0 && share <= 1);
      sum += share, squares += (share - 0.5) * (share - 0.5);
    }
    EXPECT_NEAR(sum / kDraws, 0.5, 0.01) << alpha;
    EXPECT_NEAR(squares / kDraws * 4 * (2 * alpha + 1), 1, 0.04) << alpha;
  }
}

// Why an input cannot have what is asked for.
std::string refusal(const SampleOptions &options, DType type,
                    std::vector<int64_t> shape) {
  const auto source = sourceOf("bytes", {{"x", bytesOf({4, shape.at(1)})},
                                         {"p", bytesOf({4, 3, 8, 8})}});
  const char *key = shape.size() == 2 ? "x" : "p";
  return Dataset::open(source, {{key, type, shape}}, shape[0], options)
      .status()
      .message();
}

TEST(Samples, WhatAnInputCannotHaveIsRefused) {
  SampleOptions erase, mean, mixup, cutmix;
  erase.randomErase = 0.1;
  mean.mean = {1, 2, 3}, mean.std = {1, 1, 1};
  mixup.mixup = cutmix.cutmix = 1;
  EXPECT_THAT(
      refusal(erase, DType::F32, {2, 7}),
      HasSubstr("--random-erase needs an input of pictures, floats in 1 "
                "or 3 channels: 'x' f32 [2, 7]"));
  EXPECT_THAT(refusal(erase, DType::I64, {2, 7}), HasSubstr("--random-erase"));
  EXPECT_THAT(refusal(mean, DType::F32, {2, 7}),
              HasSubstr("expected one or one for each channel of an input of "
                        "floats: 'x' f32 [2, 7]"));
  EXPECT_EQ(refusal(mean, DType::F32, {2, 3, 8, 8}), "");
  EXPECT_EQ(refusal(mean, DType::BF16, {2, 3, 8, 8}), "");
  EXPECT_THAT(refusal(mixup, DType::I64, {2, 7}),
              HasSubstr("--mixup mixes samples of f32, but 'x' takes i64"));
  EXPECT_EQ(refusal(mixup, DType::F32, {2, 7}), "");
  EXPECT_THAT(
      refusal(cutmix, DType::F32, {2, 7}),
      HasSubstr("--cutmix needs inputs of pictures, in 1 or 3 channels, "
                "but 'x' takes f32 [2, 7]"));
  EXPECT_EQ(refusal(cutmix, DType::F32, {2, 3, 8, 8}), "");
}

// What the words of a flag make of an option, or the error.
std::string settle(const char *key, const Words &words) {
  SampleOptions options;
  OptionTable table;
  options.addTo(table, "run");
  options.addDrawsTo(table, "run");
  const std::string name = std::string("run.") + key;
  const Status status = table.set(*table.find(name), words, "--x");
  return status.ok() ? textOf(options) : status.message();
}

TEST(Samples, OptionsAreRead) {
  EXPECT_EQ(settle("mean", {"imagenet"}), "mean [0.485, 0.456, 0.406]");
  EXPECT_EQ(settle("std", {"0.5"}), "std [0.5]");
  EXPECT_EQ(settle("crop-ratio", {"3/4", "2"}), "crop-ratio [0.75, 2]");
  EXPECT_EQ(settle("hflip", {"true"}), "hflip 0.5");
  EXPECT_EQ(settle("hflip", {"0.25"}), "hflip 0.25");
  EXPECT_EQ(settle("color-jitter", {"0.4", "0.3"}),
            "color-jitter [0.4, 0.3, 0, 0]");
  EXPECT_EQ(settle("random-erase", {"true"}), "random-erase 0.25");
}

TEST(Samples, OptionsAreChecked) {
  EXPECT_THAT(settle("mean", {"imagnet"}), HasSubstr("or imagenet, inception"));
  EXPECT_THAT(settle("std", {"0"}), HasSubstr("found '0'"));
  EXPECT_THAT(settle("crop-scale", {"0.5"}), HasSubstr("expected two numbers"));
  EXPECT_THAT(settle("crop-scale", {"0.5", "0.2"}), HasSubstr("smaller first"));
  EXPECT_THAT(settle("crop-ratio", {"3/0", "1"}), HasSubstr("found '0'"));
  EXPECT_THAT(settle("hflip", {"1.5"}), HasSubstr("found '1.5'"));
  EXPECT_THAT(settle("color-jitter", {"0", "0", "0", "0.7"}),
              HasSubstr("the hue's at most 0.5"));
}

} // namespace
