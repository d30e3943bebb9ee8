// SPDX-License-Identifier: Apache-2.0
// Sweeps over data on the CUDA backend over the stand-ins, a batch ahead.
#include "Fixture.h"
#include "runtime/train/session/BatchSweep.h"
#include "runtime/train/session/Inputs.h"
#include "runtime/train/session/State.h"
#include "test/unit/TinyModel.h"

using namespace dlc;
using namespace dlc::test;

namespace {

constexpr int64_t kSamples = 9; // five batches, the last half full

class CudaSweep : public Cuda {
protected:
  void SetUp() override {
    Cuda::SetUp();
    std::vector<float> x;
    for (int64_t i = 0; i < kSamples; ++i)
      x.insert(x.end(), 4, static_cast<float>(i));
    const std::vector<NamedArray> arrays = {
        {"x", DType::F32, {kSamples, 4}, std::as_bytes(std::span(x))}};
    ASSERT_TRUE(writeNpz(path("data.npz"), arrays).ok());
    plan::Plan plan = tinyPlan();
    plan.set_target("cuda");
    ASSERT_TRUE(writeTinyState(path("state"), plan, 0.5f, 0).ok());
    auto executor = Executor::create(plan, "");
    ASSERT_TRUE(executor.ok()) << executor.status().message();
    executor_ = *std::move(executor);
    ASSERT_TRUE(loadState(*executor_, path("state"), true).ok());
    program_ = findProgram(executor_->plan(), "predict");
    auto data = openDataset(path("data.npz"), executor_->plan(), "predict", {});
    ASSERT_TRUE(data.ok()) << data.status().message();
    data_.emplace(*std::move(data));
  }

  // What predict says of each sample, until batch `last`, which is refused.
  Status run(int64_t first, int64_t stride, int last = -1) {
    found_.clear();
    int batch = 0;
    return BatchSweep(*executor_, {{program_, 2}}, *data_)
        .run(first, stride,
             [&](int64_t samples, const BatchSweep::Part &,
                 std::span<const TensorView> outputs) {
               if (batch++ == last)
                 return failed("enough");
               auto *rows = reinterpret_cast<const float *>(outputs[0].data);
               for (int64_t i = 0; i < samples; ++i)
                 found_.push_back(rows[4 * i]);
               return Status();
             });
  }

  std::unique_ptr<Executor> executor_;
  const plan::Program *program_ = nullptr;
  std::optional<Dataset> data_;
  std::vector<float> found_;
};

TEST_F(CudaSweep, TakesItsBatchesInOrder) {
  EXPECT_EQ(executor_->runsAhead(), 1);
  ASSERT_TRUE(run(0, 1).ok());
  EXPECT_EQ(found_,
            (std::vector<float>{0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5}));
  ASSERT_TRUE(run(0, 2).ok()); // as the first of two ranks, and the second
  EXPECT_EQ(found_, (std::vector<float>{0.5, 1.5, 4.5, 5.5, 8.5}));
  ASSERT_TRUE(run(1, 2).ok());
  EXPECT_EQ(found_, (std::vector<float>{2.5, 3.5, 6.5, 7.5}));
  ASSERT_TRUE(run(5, 1).ok());
  EXPECT_TRUE(found_.empty());
}

TEST_F(CudaSweep, AnErrorLeavesNothingBehind) {
  for (const auto &[last, samples] :
       {std::pair(0, "0 to 1"), {2, "4 to 5"}, {4, "8 to 8"}}) {
    const Status status = run(0, 1, last);
    EXPECT_EQ(status.message(), fmt::format("samples {} of '{}': enough",
                                            samples, path("data.npz")));
    EXPECT_EQ(found_.size(), 2 * static_cast<size_t>(last));
    ASSERT_TRUE(run(0, 1).ok());
    EXPECT_EQ(found_.size(), static_cast<size_t>(kSamples));
    EXPECT_EQ(found_[0], 0.5f);
  }
}

} // namespace
