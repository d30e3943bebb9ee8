// SPDX-License-Identifier: Apache-2.0
// How the tuner times algorithms: by the GPU's clock, with the cache emptied
// before each run.
#include "Fixture.h"
#include "runtime/base/process/Log.h"

#include <unistd.h>

using namespace dlc;
using namespace dlc::test;

namespace {

constexpr uint64_t kL2 = 1 << 20; // of the stand-in

// A library's algorithm, which takes so long with a cold or a warm cache.
struct Algorithm {
  const char *name;
  useconds_t cold, warm;
  const standin::Interface *standin;
  useconds_t host = 0; // that its start takes
  bool startsOnce = false;
  int starts = 0, runs = 0, warmRuns = 0;

  // Whether nothing has emptied the cache since an algorithm ran before.
  bool isWarm() const {
    const std::string lines = "\n" + std::string(standin->trace());
    const size_t now = lastLaunch(lines, lines.npos);
    const size_t before = now ? lastLaunch(lines, now - 1) : 0;
    if (before == 0)
      return false;
    const std::string between = lines.substr(before, now - before);
    const size_t memset = between.find("cuMemsetD8Async d");
    return memset == between.npos ||
           std::stoull(between.substr(between.find(' ', memset + 16) + 1)) <
               4 * kL2;
  }
  // Of an algorithm, alone or recorded: its line in the trace, 0 if none.
  static size_t lastLaunch(const std::string &lines, size_t end) {
    size_t last = 0;
    for (const char *call : {"\nlibrary ", "\ncuGraphLaunch "})
      if (const size_t found = lines.rfind(call, end); found != lines.npos)
        last = std::max(last, found);
    return last;
  }
  static CUresult run(void *data) {
    auto &self = *static_cast<Algorithm *>(data);
    const bool warm = self.isWarm();
    ++self.runs;
    self.warmRuns += warm;
    ::usleep(warm ? self.warm : self.cold);
    return CUDA_SUCCESS;
  }
};

class CudaTuner : public Cuda {
protected:
  void SetUp() override {
    Cuda::SetUp();
    open();
  }
  void open() {
    device_.reset();
    TuneOptions options;
    options.mode = TuneOptions::Mode::Benchmark;
    options.cacheFolder = path("cache");
    options.choices = choices_;
    auto device = CudaDevice::create(0, options);
    ASSERT_TRUE(device.ok()) << device.status().message();
    device_ = *std::move(device);
    standin_->clearTrace();
  }

  // Which is chosen.
  size_t measure(std::vector<Algorithm *> algorithms) {
    std::vector<Candidate> candidates;
    for (Algorithm *algorithm : algorithms) {
      algorithm->standin = standin_;
      Candidate candidate;
      candidate.entry.engine = algorithm->name;
      candidate.enqueue = [this, algorithm](CUdeviceptr draft) -> Status {
        if (algorithm->starts++ && algorithm->startsOnce)
          return failed("not in a recording");
        ::usleep(algorithm->host);
        const standin::Access writes = {reinterpret_cast<void *>(draft), 256,
                                        true};
        return device_->context().check(
            standin_->enqueue(device_->context().compute(),
                              {algorithm->name, Algorithm::run, algorithm,
                               nullptr, &writes, 1}),
            algorithm->name);
      };
      candidates.push_back(std::move(candidate));
    }
    const auto chosen = tuner().measure(tuner().key(), "node", 256, candidates);
    EXPECT_TRUE(chosen.ok()) << chosen.status().message();
    return chosen.ok() ? *chosen : 99;
  }
  const Tuner &tuner() const { return device_->tuner(); }
  size_t freeMemory() const {
    size_t free = 0, total = 0;
    device_->context().driver().cuMemGetInfo(&free, &total);
    return free;
  }

  std::shared_ptr<TuneChoices> choices_;
  std::unique_ptr<CudaDevice> device_;
  Algorithm first_ = {"first", 4000, 100, nullptr};
  Algorithm second_ = {"second", 1000, 1000, nullptr};
};

TEST_F(CudaTuner, TimesWithAColdCache) {
  const size_t before = freeMemory();
  EXPECT_EQ(measure({&first_, &second_}), 1u);
  EXPECT_EQ(freeMemory(), before);
  // One run to see whether it starts, and that leaves a warm cache to none.
  EXPECT_GT(first_.runs, 10);
  EXPECT_EQ(first_.warmRuns, 0);
  EXPECT_LE(second_.warmRuns, 1);
  const auto entry = tuner().find(tuner().key(), "a");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->engine, "second");
  EXPECT_GE(entry->milliseconds, 1);
  EXPECT_LT(entry->milliseconds, 4) << "the memset is not timed";
  // Between the launches that count: the flush, then the clock starts.
  const std::string lines = trace();
  const size_t last = lines.rfind("cuGraphLaunch");
  const size_t flush = lines.rfind("cuMemsetD8Async", last);
  EXPECT_LT(lines.rfind("cuGraphLaunch", last - 1), flush);
  EXPECT_LT(flush, lines.rfind("cuEventRecord", last));
}

TEST_F(CudaTuner, TakesWhatIsFasterCold) {
  second_.cold = 8000;
  EXPECT_EQ(measure({&first_, &second_}), 0u);
  EXPECT_EQ(tuner().find(tuner().key(), "a")->engine, "first");
}

// A start that takes the host longer than the work takes the GPU, as of a plan
// of several kernels: in a recorded step the host starts nothing.
TEST_F(CudaTuner, TimeOfTheHostDoesNotDecide) {
  first_.cold = 1000;
  first_.host = 8000;
  second_.cold = 4000;
  EXPECT_EQ(measure({&second_, &first_}), 1u);
}

// What a report shows of each: not only who won, but by how much.
TEST_F(CudaTuner, KeepsWhatItMeasured) {
  choices_ = std::make_shared<TuneChoices>();
  open();
  Algorithm third = {"third", 8000, 8000, nullptr};
  third.startsOnce = true;
  EXPECT_EQ(measure({&first_, &third, &second_}), 2u);
  const Json said = choices_->describe();
  ASSERT_EQ(said.size(), 1u);
  const Json &measured = said[0]["measured"];
  ASSERT_EQ(measured.size(), 2u) << "one was left out: " << measured.dump();
  EXPECT_EQ(measured[0]["engine"], "second");
  EXPECT_EQ(measured[0]["number"], 2);
  EXPECT_EQ(measured[0]["milliseconds"], said[0]["milliseconds"]);
  EXPECT_EQ(measured[1]["engine"], "first");
  EXPECT_EQ(measured[1]["number"], 0);
  EXPECT_GE(measured[1]["milliseconds"], 4);
}

TEST_F(CudaTuner, WhatCannotBeRecordedIsLeftOut) {
  second_.startsOnce = true;
  EXPECT_EQ(measure({&second_, &first_}), 1u);
}

TEST_F(CudaTuner, ShortMemoryLeavesTheCacheWarm) {
  const Environment memory("DLC_STANDIN_MEMORY_MIB", "2"); // and no draft
  testing::internal::CaptureStderr();
  EXPECT_EQ(measure({&first_, &second_}), 0u);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "node: the GPU has not enough memory to empty its cache "
                "between runs: its algorithms are measured with a warm one, "
                "for this run only"),
            std::string::npos);
  EXPECT_GT(first_.warmRuns, 10);
  EXPECT_EQ(trace().find("cuMemsetD8Async"), std::string::npos);
  EXPECT_FALSE(tuner().find(tuner().key(), "a")) << "nothing is kept on disk";
  EXPECT_EQ(freeMemory(), size_t(2) << 20);
}

TEST_F(CudaTuner, WithoutMemoryNothingIsMeasured) {
  const Environment memory("DLC_STANDIN_MEMORY_MIB", "0");
  testing::internal::CaptureStderr();
  EXPECT_EQ(measure({&second_, &first_}), 0u);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "node: the GPU has not enough memory to measure its "
                "algorithms: the library's first choice is taken"),
            std::string::npos);
  EXPECT_EQ(first_.runs + second_.runs, 0);
  EXPECT_FALSE(tuner().find(tuner().key(), "a"));
}

} // namespace
