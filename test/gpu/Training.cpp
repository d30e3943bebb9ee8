// SPDX-License-Identifier: Apache-2.0
// gpu-training CASES.json DLC: whole runs of the tool on a GPU.
//   Losses         each metric that a case expects
//   Graph          a step launched as one and command by command: equal bytes
//   Deterministic  ten runs with --deterministic: equal bytes
//   Tuning         the second start uses what the first measured, and is quick
//   OutOfMemory    a GPU that others have filled: exit code 6 and a table
#include "test/gpu/Cases.h"
#include "test/gpu/Gpu.h"
#include "test/unit/TempFolder.h"

#include "runtime/base/files/Files.h"

#include <cmath>

namespace dlc::test {
namespace {

std::string dlcProgram;

class TrainingTest : public TempFolder {
public:
  explicit TrainingTest(const TrainingCase &c) : c_(c) {}

protected:
  // A run that must succeed, with numbers.
  TrainingRun run(const std::string &name,
                  const std::vector<std::string> &words = {}) {
    TrainingRun result = train(dlcProgram, c_, path(name), words);
    const Finished &process = result.process;
    EXPECT_FALSE(process.late) << "killed after " << process.seconds << " s";
    EXPECT_EQ(process.code, 0) << process.err;
    EXPECT_EQ(process.err.find("stand-in driver:"), std::string::npos)
        << process.err;
    EXPECT_EQ(result.metrics["loss"].size(), static_cast<size_t>(c_.steps));
    return result;
  }
  static std::string bytesOf(const std::string &file) {
    auto bytes = readFile(file);
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    return bytes.ok() ? *std::move(bytes) : "";
  }
  void expectSame(TrainingRun &one, TrainingRun &other) {
    for (const char *key : {"loss", "found_inf", "loss_scale"})
      EXPECT_EQ(one.metrics[key], other.metrics[key]) << key;
    EXPECT_TRUE(bytesOf(one.state) == bytesOf(other.state))
        << "weights after " << c_.steps << " steps differ";
  }

  const TrainingCase &c_;
};

class Losses : public TrainingTest {
public:
  using TrainingTest::TrainingTest;
  void TestBody() override {
    const TrainingRun result = run("run");
    for (const Expected &expected : c_.expected)
      EXPECT_EQ(compareMetrics(result, expected), "");
  }
};

class GraphTest : public TrainingTest {
public:
  using TrainingTest::TrainingTest;
  void TestBody() override {
    TrainingRun one = run("graph", {"--deterministic"});
    TrainingRun other = run("plain", {"--deterministic", "--no-graph"});
    expectSame(one, other);
  }
};

class Deterministic : public TrainingTest {
public:
  using TrainingTest::TrainingTest;
  void TestBody() override {
    TrainingRun first = run("run0", {"--deterministic"});
    for (int i = 1; i < 10 && !HasFailure(); ++i) {
      TrainingRun again = run(fmt::format("run{}", i), {"--deterministic"});
      expectSame(first, again);
    }
  }
};

class Tuning : public TrainingTest {
public:
  using TrainingTest::TrainingTest;
  void TestBody() override {
    const std::vector<std::string> words = {"--tune=benchmark",
                                            "--cache-dir=" + path("cache")};
    TrainingRun cold = run("cold", words);
    const auto measured = entriesOf(path("cache"));
    EXPECT_FALSE(measured.empty()) << "nothing was measured";
    TrainingRun warm = run("warm", words);
    EXPECT_EQ(entriesOf(path("cache")), measured) << "measured again";
    // The fastest algorithm may sum in another order each time.
    const auto &first = cold.metrics["loss"], &second = warm.metrics["loss"];
    ASSERT_EQ(second.size(), first.size());
    for (size_t i = 0; i < first.size(); ++i)
      EXPECT_NEAR(second[i], first[i], 1e-4 * std::abs(first[i])) << i;
    fmt::print(
        "start to first step: {:.3f} s cold, {:.3f} s warm, {} entries\n",
        cold.firstStep, warm.firstStep, measured.size());
    RecordProperty("cold_ms", static_cast<int>(1e3 * cold.firstStep));
    RecordProperty("warm_ms", static_cast<int>(1e3 * warm.firstStep));
  }

private:
  // Path and content of all files.
  static std::map<std::string, std::string>
  entriesOf(const std::string &folder) {
    std::map<std::string, std::string> files;
    std::error_code ignored;
    using Iterator = std::filesystem::recursive_directory_iterator;
    for (const auto &entry : Iterator(folder, ignored))
      if (entry.path().extension() == ".json")
        files[entry.path()] = bytesOf(entry.path());
    return files;
  }
};

class OutOfMemory : public TrainingTest {
public:
  using TrainingTest::TrainingTest;
  void TestBody() override {
    fill();
    const TrainingRun result = train(dlcProgram, c_, path("run"));
    closeGpu();
    fmt::print("{}", result.process.err);
    EXPECT_EQ(result.process.code, 6) << result.process.err;
    for (const char *part : {"has not enough memory for", "largest tensors"})
      EXPECT_NE(result.process.err.find(part), std::string::npos) << part;
  }

private:
  // Takes all but what a process needs to start; the case wants more.
  static void fill() {
    constexpr uint64_t kLeft = uint64_t(1) << 30;
    size_t free = 0, total = 0;
    const GpuContext &context = gpu().context();
    ASSERT_EQ(context.driver().cuMemGetInfo(&free, &total), CUDA_SUCCESS);
    if (free > kLeft) {
      ASSERT_TRUE(gpu().allocate(free - kLeft, "taken").ok());
    }
  }
};

template <class T> void add(const char *suite, const TrainingCase &c) {
  testing::RegisterTest(suite, c.name.c_str(), nullptr, nullptr, __FILE__,
                        __LINE__,
                        [&c]() -> TrainingTest * { return new T(c); });
}

int runAll(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) {
    fmt::print(stderr, "usage: gpu-training CASES.json DLC [--gtest_...]\n");
    return 2;
  }
  auto cases = readCases(argv[1]);
  if (!cases) {
    fmt::print(stderr, "{}\n", cases.status().message());
    return 1;
  }
  dlcProgram = argv[2];
  for (const TrainingCase &c : *cases) {
    if (!c.expected.empty())
      add<Losses>("Losses", c);
    if (c.has("graph"))
      add<GraphTest>("Graph", c);
    if (c.has("deterministic"))
      add<Deterministic>("Deterministic", c);
    if (c.has("tuning"))
      add<Tuning>("Tuning", c);
    if (c.has("memory"))
      add<OutOfMemory>("OutOfMemory", c);
  }
  if (!testing::GTEST_FLAG(list_tests))
    if (const int code = findGpu())
      return code;
  const int code = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() > 0)
    return code;
  fmt::print("skipped: {} has no such case\n", argv[1]);
  return kSkipped;
}

} // namespace
} // namespace dlc::test

int main(int argc, char **argv) { return dlc::test::runAll(argc, argv); }
