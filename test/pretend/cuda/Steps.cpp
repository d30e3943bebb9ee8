// SPDX-License-Identifier: Apache-2.0
// Whole steps on the CUDA backend over the stand-ins: the same numbers as on
// the CPU, what the host does in a step, and what happens when a reduction
// breaks.
#include "Fixture.h"
#include "Ranks.h"
#include "runtime/exec/Executor.h"
#include "test/support/Outputs.h"
#include "test/unit/TinyModel.h"

#include <fstream>
#include <functional>
#include <sstream>

using namespace dlc;
using namespace dlc::test;
using namespace std::chrono_literals;

namespace {

plan::Plan planFor(const std::string &target, int ranks) {
  plan::Plan plan = tinyPlan(ranks);
  plan.set_target(target);
  return plan;
}

Status writeState(Executor &executor, const std::string &folder, int rank) {
  const std::string path = fmt::format("{}/state-{}", folder, rank);
  DLC_TRY(writeTinyState(path, executor.plan(), 0.5f, 0));
  DLC_ASSIGN(const SafetensorsFile file, SafetensorsFile::open(path));
  for (const NamedTensor &tensor : file.tensors())
    DLC_TRY(executor.writeState(tensor.name, tensor.data, tensor.bytes));
  return {};
}

Status step(Executor &executor, int rank, int number) {
  float x[8];
  for (int i = 0; i < 8; ++i)
    x[i] = static_cast<float>(i * (rank + 1)) / 8 + static_cast<float>(number);
  const int64_t y[2] = {0, 1};
  DLC_TRY(executor.setInput("train_step", "input", x, sizeof x));
  DLC_TRY(executor.setInput("train_step", "y", y, sizeof y));
  return executor.run("train_step");
}

// Trains and says "w0 w1 w2 w3 loss".
Result<std::string> train(const plan::Plan &plan, const std::string &folder,
                          Communicator *ranks, const ExecutorOptions &options,
                          int steps) {
  const int rank = ranks ? ranks->rank() : 0;
  DLC_ASSIGN(auto executor, Executor::create(plan, "", ranks, options));
  DLC_TRY(writeState(*executor, folder, rank));
  for (int i = 0; i < steps; ++i)
    DLC_TRY(step(*executor, rank, i));
  float w[4];
  DLC_ASSIGN(const TensorView view, outputOf(*executor, "train_step", "loss"));
  DLC_ASSIGN(const double loss, scalarOf(view));
  DLC_TRY(executor->readState("w", w, sizeof w));
  if (const auto *standin = standin::standin();
      standin && standin->violations() > 0)
    return std::string(standin->lastViolation());
  return fmt::format("{} {} {} {} {}", w[0], w[1], w[2], w[3], loss);
}

std::string textOf(const Result<std::string> &result) {
  return result.ok()
             ? *result
             : fmt::format("{} {}", static_cast<int>(result.status().code()),
                           result.status().message());
}

class CudaSteps : public TempFolder {
protected:
  std::vector<std::string> trainOn(const std::string &target, int ranks,
                                   const ExecutorOptions &options) {
    return onRanks(ranks, path(""), [&](Communicator &communicator) {
      return textOf(train(planFor(target, ranks), path(""),
                          ranks > 1 ? &communicator : nullptr, options, 5));
    });
  }
};

TEST_F(CudaSteps, AreThoseOfTheCpu) {
  for (int ranks : {1, 2}) {
    const std::vector<std::string> expected = trainOn("cpu", ranks, {});
    ASSERT_EQ(expected[0].find("0.5"), std::string::npos);
    for (bool record : {false, true})
      for (const char *seed : {"1", "2", "3"}) {
        Environment order("DLC_STANDIN_SEED", seed);
        EXPECT_EQ(trainOn("cuda", ranks, {.record = record}), expected)
            << ranks << " ranks, record " << record << ", seed " << seed;
      }
  }
}

// The trace of one rank between two marks.
class CudaTrace : public CudaSteps {
protected:
  // Trains three steps, then traces one more without any look at its results.
  std::string traceOfStep(bool record) {
    onRanks(2, path(""), [&](Communicator &ranks) {
      const auto run = [&]() -> Status {
        DLC_ASSIGN(auto executor, Executor::create(planFor("cuda", 2), "",
                                                   &ranks, {.record = record}));
        DLC_TRY(writeState(*executor, path(""), ranks.rank()));
        for (int i = 0; i < 3; ++i)
          DLC_TRY(step(*executor, ranks.rank(), i));
        DLC_TRY(executor->synchronize());
        mark(ranks.rank(), "BEGIN");
        DLC_TRY(step(*executor, ranks.rank(), 3));
        mark(ranks.rank(), "END");
        return executor->synchronize();
      };
      const Status status = run();
      if (!status.ok())
        mark(ranks.rank(), status.message().c_str());
      return std::string();
    });
    std::ifstream file(path("trace-0"));
    std::string all(std::istreambuf_iterator<char>(file), {});
    const size_t begin = all.find("BEGIN\n"), end = all.find("END\n");
    return begin == all.npos || end == all.npos
               ? "no step: " + all
               : all.substr(begin + 6, end - begin - 6);
  }
  void mark(int rank, const char *text) {
    std::ofstream(path(fmt::format("trace-{}", rank)), std::ios::app)
        << text << "\n";
  }
};

// e: events, whose numbers come from the whole run.
std::string withoutNumbersOfEvents(const std::string &trace) {
  std::string result;
  for (size_t i = 0; i < trace.size(); ++i) {
    result += trace[i];
    if (trace[i] == 'e' && (i == 0 || trace[i - 1] == ' '))
      while (i + 1 < trace.size() && std::isdigit(trace[i + 1]))
        ++i;
  }
  return result;
}

// Inputs travel on a stream of their own, beside the step before.
const std::string kInputs = R"(cuStreamWaitEvent s3 e
cuMemcpyHtoDAsync d5+0 <- h3+0 32 bytes s3
cuEventRecord e s3
cuMemcpyHtoDAsync d5+256 <- h3+256 16 bytes s3
cuEventRecord e s3
cuStreamWaitEvent s1 e
cuMemcpyDtoDAsync d3+0 <- d5+0 32 bytes s1
cuMemcpyDtoDAsync d3+1024 <- d5+256 16 bytes s1
cuEventRecord e s1
)";

TEST_F(CudaTrace, AStepNeitherWaitsNorAllocates) {
  EXPECT_EQ(withoutNumbersOfEvents(traceOfStep(false)),
            kInputs + R"(library cublasLtMatmul s1
cuEventRecord e s1
cuStreamWaitEvent s2 e
library ncclAllReduce 4 x f32 s2
cuEventRecord e s2
cuStreamWaitEvent s1 e
library cublasLtMatmul s1
cuMemcpyDtoDAsync d1+0 <- d3+2048 16 bytes s1
library cublasLtMatmul s1
cuEventRecord e s1
cuEventRecord e s2
)");
}

TEST_F(CudaTrace, ARecordedStepIsOneLaunch) {
  EXPECT_EQ(withoutNumbersOfEvents(traceOfStep(true)),
            kInputs + R"(cuGraphLaunch g1 with 5 nodes s1
cuEventRecord e s1
cuEventRecord e s2
)");
}

// --- reductions that break ---

class CudaPeers : public CudaSteps {
protected:
  std::vector<std::string> trainWith(const char *fault, bool record = false) {
    Environment variable("DLC_STANDIN_NCCL_FAULT", fault);
    const auto begin = std::chrono::steady_clock::now();
    auto answers = trainOn("cuda", 2, {.record = record, .timeout = 1500ms});
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 9s) << fault;
    return answers;
  }
  // What each of two ranks says; `between` comes between the steps.
  std::vector<std::string>
  trainTwoSteps(const std::function<Status(Executor &, int)> &between,
                bool record = false) {
    return onRanks(2, path(""), [&](Communicator &ranks) {
      const auto run = [&]() -> Result<std::string> {
        DLC_ASSIGN(auto executor,
                   Executor::create(planFor("cuda", 2), "", &ranks,
                                    {.record = record, .timeout = 1500ms}));
        DLC_TRY(writeState(*executor, path(""), ranks.rank()));
        // A program is recorded when it runs for the second time.
        for (int i = 0; i < 1 + 2 * record; ++i)
          DLC_TRY(step(*executor, ranks.rank(), i));
        DLC_TRY(between(*executor, ranks.rank()));
        DLC_TRY(step(*executor, ranks.rank(), 1));
        DLC_TRY(executor->synchronize());
        return std::string("done");
      };
      return textOf(run());
    });
  }
};

TEST_F(CudaPeers, AFailureNamesItsRank) {
  using Answers = std::vector<std::string>;
  const std::string run = "rank 1 failed: a collective: unhandled cuda error";
  const std::string call = "rank 1 failed: ncclAllReduce: unhandled cuda error";
  for (bool record : {false, true}) {
    const Answers answers = trainWith("1:1:run", record);
    // Seen by the watchdog, or by the call that comes next.
    const std::string &seen = answers[1] == "1 " + call ? call : run;
    EXPECT_EQ(answers, (Answers{"7 " + seen, "1 " + seen}));
  }
  EXPECT_EQ(trainWith("1:2:call"), (Answers{"7 " + call, "1 " + call}));
  const std::string stall =
      "rank 0 failed: ncclAllReduce takes longer than 1.5 s";
  EXPECT_EQ(trainWith("0:2:stall"), (Answers{"1 " + stall, "7 " + stall}));
}

TEST_F(CudaPeers, AHangEndsAtTheDeadline) {
  for (bool record : {false, true})
    for (const std::string &answer : trainWith("1:1:hang", record)) {
      EXPECT_TRUE(answer.starts_with("7 a collective was not done in 1.5 s: "
                                     "all_reduce of bucket 0, gradients of "))
          << answer;
      EXPECT_TRUE(answer.ends_with("and all ranks wait for it")) << answer;
    }
}

TEST_F(CudaPeers, ARankThatIsBehindIsNamed) {
  const auto answers = trainTwoSteps([](Executor &, int rank) -> Status {
    if (rank == 1)
      ::usleep(4'000'000); // its data do not come
    return {};
  });
  for (const std::string &answer : answers)
    EXPECT_EQ(answer.find("7 rank 1 is behind: it started 1 steps, rank 0 2"),
              0u)
        << answer;
}

// Also where steps were recorded, whose graphs keep the communicator until they
// are destroyed.
TEST_F(CudaPeers, ARankThatIsGoneIsNamed) {
  for (bool record : {false, true}) {
    const auto answers = trainTwoSteps(
        [](Executor &executor, int rank) {
          Status status = executor.synchronize();
          if (status.ok() && rank == 1)
            ::kill(::getpid(), SIGKILL);
          return status;
        },
        record);
    EXPECT_EQ(answers[0].find("7 rank 1 is lost in"), 0u)
        << "record " << record << ": " << answers[0];
  }
}

TEST_F(CudaPeers, TwoRanksOnOneGpuAreRefused) {
  const auto answers = onRanks(2, path(""), [&](Communicator &ranks) {
    ::setenv("DLC_STANDIN_DEVICES", "1", 1); // each process sees one GPU
    return textOf(train(planFor("cuda", 2), path(""), &ranks, {}, 1));
  });
  for (const std::string &answer : answers)
    EXPECT_EQ(answer.find("2 ranks 0 and 1 are on the same GPU, GPU-01"), 0u)
        << answer;
}

TEST_F(CudaPeers, AnotherVersionOfNcclIsRefused) {
  const auto answers = onRanks(2, path(""), [&](Communicator &ranks) {
    ::setenv("DLC_STANDIN_NCCL_VERSION", ranks.rank() ? "22703" : "22809", 1);
    return textOf(
        train(planFor("cuda", 2), path(""), &ranks, {.record = false}, 1));
  });
  for (const std::string &answer : answers)
    EXPECT_EQ(answer, "5 rank 1: NCCL 2.27.3, expected 2.28.9 as on rank 0");
}

TEST_F(CudaPeers, ANcclForANewerCudaIsRefused) {
  Environment old("DLC_STANDIN_DRIVER_VERSION", "12080");
  for (const std::string &answer : trainOn("cuda", 2, {}))
    EXPECT_NE(answer.find("NCCL is for a newer CUDA than the driver: update "
                          "the driver, or install NCCL for the driver's CUDA"),
              std::string::npos)
        << answer;
}

TEST_F(CudaSteps, ShortMemoryNamesTheLargestTensors) {
  Environment memory("DLC_STANDIN_MEMORY_MIB", "1");
  const auto answers = onRanks(1, path(""), [&](Communicator &) {
    plan::Plan plan = planFor("cuda", 1);
    plan.mutable_regions(2)->set_bytes(4 << 20);
    return textOf(train(plan, path(""), nullptr, {}, 1));
  });
  EXPECT_EQ(answers[0].find("6 GPU 0 (Stand-in GPU) has not enough memory for "
                            "scratch: 4.0 MiB wanted, "),
            0u);
  EXPECT_NE(answers[0].find("\nthe largest tensors:\n       0.0 MiB  const "
                            "'eye' f32 [4,4]\n"),
            std::string::npos)
      << answers[0];
}

} // namespace
