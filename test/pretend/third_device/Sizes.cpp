// SPDX-License-Identifier: Apache-2.0
// Batches of two sizes by turns, in one artifact, against two artifacts whose
// state goes from one to the other.
#include "test/pretend/third_device/Registered.h"

#include "compiler/driver/Compiler.h"
#include "runtime/base/files/Files.h"
#include "runtime/train/session/Inputs.h"
#include "runtime/train/session/Session.h"

#include <cstring>
#include <random>

namespace dlc::test {
namespace {

constexpr int64_t kPixels = 64, kSteps = 6;

class Sizes : public Registered,
              public testing::WithParamInterface<const char *> {
protected:
  std::unique_ptr<Session> open(std::vector<int64_t> batches,
                                int64_t accumulate = 1) {
    CompileOptions options;
    options.model = std::string(DLC_MODELS) + "/mlp.onnx";
    options.output = path("m" + std::to_string(made_++) + ".dlc");
    options.batches = std::move(batches);
    options.train.target.name = GetParam();
    options.train.ema.enabled = true;
    options.train.accumulate.count = static_cast<int>(accumulate);
    const auto compiled = compile(options);
    EXPECT_TRUE(compiled.ok()) << compiled.status().message();
    auto session = Session::open(options.output, {.threads = 1});
    EXPECT_TRUE(session.ok()) << session.status().message();
    return *std::move(session);
  }
  Batch batchOf(int64_t rows) {
    Batch batch(2);
    batch[0].resize(static_cast<size_t>(rows * kPixels) * sizeof(float));
    batch[1].resize(static_cast<size_t>(rows) * sizeof(int64_t));
    for (int64_t i = 0; i < rows * kPixels; ++i) {
      const float x = static_cast<float>(random_() % 256) / 255;
      std::memcpy(&batch[0][static_cast<size_t>(i) * sizeof x], &x, sizeof x);
    }
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t y = static_cast<int64_t>(random_() % 10);
      std::memcpy(&batch[1][static_cast<size_t>(i) * sizeof y], &y, sizeof y);
    }
    return batch;
  }
  std::string save(Session &session, const char *name) {
    const Status saved = session.save(path(name)).status();
    EXPECT_TRUE(saved.ok()) << saved.message();
    return readFile(path(name)).value();
  }

  int made_ = 0;
  std::mt19937 random_{1};
};

TEST_P(Sizes, ByTurnsAreTwoArtifactsAndACheckpoint) {
  auto both = open({6, 16});
  std::unique_ptr<Session> alone[] = {open({16}), open({6})};
  for (int64_t step = 0; step < kSteps; ++step) {
    const Batch batch = batchOf(step % 2 ? 6 : 16);
    auto found = both->trainStep(batch);
    ASSERT_TRUE(found.ok()) << found.status().message();
    Session &one = *alone[step % 2];
    auto expected = one.trainStep(batch);
    ASSERT_TRUE(expected.ok()) << expected.status().message();
    ASSERT_EQ(found->size(), expected->size());
    EXPECT_EQ(
        0, std::memcmp(found->data(), expected->data(), found->size_bytes()));
    EXPECT_EQ(save(*both, "both.safetensors"), save(one, "one.safetensors"))
        << "step " << step;
    ASSERT_TRUE(alone[1 - step % 2]->load(path("one.safetensors")).ok());
  }
}

TEST_P(Sizes, RefusesBatchesOfNoSize) {
  auto both = open({16, 6});
  auto none = both->trainStep(batchOf(7));
  EXPECT_EQ(none.status().code(), Code::Usage);
  EXPECT_NE(none.status().message().find("batch=16; batch=6"),
            std::string::npos)
      << none.status().message();
  EXPECT_EQ(both->trainStep(batchOf(6), nullptr, 2).status().code(),
            Code::Usage);
  const auto size = findSize(both->plan(), "train_step", {{6, 1, 8, 8}, {6}});
  ASSERT_TRUE(size.ok()) << size.status().message();
  EXPECT_EQ(*size, 1);
  const auto wrong = findSize(both->plan(), "train_step", {{7, 1, 8, 8}, {7}});
  EXPECT_NE(wrong.status().message().find(
                "takes [16, 1, 8, 8], [16] or [6, 1, 8, 8], [6], found "
                "[7, 1, 8, 8], [7]"),
            std::string::npos)
      << wrong.status().message();
}

TEST_P(Sizes, AnUpdateIsOfOneSize) {
  auto both = open({16, 6}, 2);
  auto first = both->startStep(batchOf(6));
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_FALSE(*first);
  EXPECT_NE(both->startStep(batchOf(16))
                .status()
                .message()
                .find("a micro-batch of batch=16 in an update that began with "
                      "batch=6"),
            std::string::npos);
  auto second = both->trainStep(batchOf(6));
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_FALSE(second->empty());
}

INSTANTIATE_TEST_SUITE_P(Targets, Sizes, testing::Values("cpu", "fake"));

} // namespace
} // namespace dlc::test
