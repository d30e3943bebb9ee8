// SPDX-License-Identifier: Apache-2.0
// Builds plans of the real libcudnn for the commands of graphs.txt, for a GPU
// that is not here (DLC_PLANS_SM), and compares engine, scratch and refusals
// with the table. The stand-in driver loads the kernels; nothing runs.
//   DLC_PLANS_ALL=1    every line, not only a part that takes a minute
//   DLC_PLANS_WRITE=1  writes the answers into the table
#include "Graphs.h"
#include "test/pretend/cuda/CudnnCases.h"

#include <limits>
#include <set>

using namespace dlc;
using namespace dlc::test;

namespace {

constexpr size_t kVersion = 91900;       // of the table's engines and scratch
constexpr uint64_t kScratch = 256 << 20; // as TuneOptions

bool asked(const char *variable) { return std::getenv(variable) != nullptr; }

class RealCudnnPlans : public RealCudnn {
protected:
  void SetUp() override {
    RealCudnn::SetUp();
    if (IsSkipped())
      return;
    if (version_ < 90800)
      GTEST_SKIP() << "cuDNN " << version_ << " takes no descriptions of GPUs";
    const char *sm = std::getenv("DLC_PLANS_SM");
    gpu_.sm = sm ? std::atoi(sm) : 90;
    size_t gpu = 0;
    while (gpu < kGpus.size() && kGpus[gpu].sm != gpu_.sm)
      ++gpu;
    ASSERT_LT(gpu, kGpus.size()) << gpu_.sm;
    cell_ = GraphLine::kAnswers + gpu;
    ::setenv("DLC_STANDIN_SM", std::to_string(gpu_.sm).c_str(), 1);
    auto json = readFile(kGpus[gpu].file);
    ASSERT_TRUE(json.ok()) << json.status().message();
    gpu_.device = *json;
    auto table = readFile(kFolder + "/graphs.txt");
    ASSERT_TRUE(table.ok()) << table.status().message();
    lines_ = readGraphs(*table);
  }

  using Plans = Result<std::vector<TuneEntry>>;
  Plans propose(const CommandSpec &spec, const CudnnLimits &limits) {
    const std::string &kind = spec.command.kind();
    if (kind.starts_with("attention")) {
      DLC_ASSIGN(const Attention attention, attentionOf(spec));
      return plansOfAttention(spec, attention, limits, gpu_);
    }
    if (kind.starts_with("fused")) {
      DLC_ASSIGN(const Norm norm, normOf(spec));
      return plansOfNorm(spec, norm, limits, gpu_);
    }
    DLC_ASSIGN(const Conv conv, convolutionOf(spec));
    return plansOfConvolution(spec, conv, limits, gpu_);
  }
  // As runtime/device/cuda/cudnn/CudnnCommand.cpp: more scratch if need be.
  std::string answer(const CommandSpec &spec, bool deterministic) {
    CudnnLimits limits{.workspace = kScratch, .deterministic = deterministic};
    Plans plans = propose(spec, limits);
    if (!plans.ok()) {
      limits.workspace = std::numeric_limits<int64_t>::max();
      plans = propose(spec, limits);
    }
    if (!plans.ok())
      return "none: " + reasonOf(plans.status().message());
    return plans->front().engine + "/" +
           std::to_string(plans->front().workspace);
  }
  std::string answer(const GraphLine &line) {
    const TestCommand command = commandOf(line);
    const CommandSpec spec = command.spec();
    std::string result = answer(spec, false);
    if (line.kind().find("backward") != std::string::npos &&
        !line.kind().starts_with("fused"))
      result += " " + answer(spec, true);
    return result;
  }

  // The first line, and what each engine says first, once.
  static std::string reasonOf(const std::string &message) {
    const std::string reason = "Reason: ";
    std::string result = split(message, "\n")[0];
    std::set<std::string> seen;
    for (const std::string &engine : split(message, "\n\n")) {
      const size_t at = engine.find(reason);
      if (at == std::string::npos)
        continue;
      std::string said = split(engine.substr(at + reason.size()), "\n")[0];
      if (seen.insert(said).second)
        result += "; " + said;
    }
    std::replace(result.begin(), result.end(), '|', '/');
    const size_t library = result.find("cuDNN");
    return library == std::string::npos ? result : result.substr(library);
  }

  // Lines of another form than all before, wide heads, and every sixth
  // convolution; but for sm_90, of bf16 alone.
  std::vector<size_t> chosen() const {
    std::vector<size_t> result;
    std::set<std::string> forms;
    const bool all = asked("DLC_PLANS_ALL") || asked("DLC_PLANS_WRITE");
    for (size_t i = 0; i < lines_.size(); ++i) {
      const GraphLine &line = lines_[i];
      if (!all && gpu_.sm != 90 &&
          !split(line.text(), " ")[1].starts_with("bf16"))
        continue;
      const bool isNew = forms.insert(line.form()).second;
      if (all || isNew || line.hasWideHeads() ||
          (line.kind().starts_with("conv") && i % 6 == 0))
        result.push_back(i);
    }
    return result;
  }

  // The first words of an answer: "9/256 none: ..." is "built none:".
  static std::string builtOrNot(const std::string &answer) {
    std::string result;
    for (const std::string &word : split(answer, " "))
      if (word == "none:")
        return result + word;
      else
        result += "built ";
    return result;
  }

  inline static const std::string kFolder = DLC_PLANS;
  struct Gpu {
    int sm;
    const char *file;
  };
  static constexpr std::array<Gpu, 3> kGpus = {{{80, DLC_PLANS "/a100.json"},
                                                {90, DLC_H200_JSON},
                                                {100, DLC_PLANS "/b200.json"}}};
  AbsentGpu gpu_;
  size_t cell_ = 0;
  std::vector<GraphLine> lines_;
};

// Eight models, and an answer to each question.
TEST(CudnnTable, IsComplete) {
  auto table = readFile(DLC_PLANS "/graphs.txt");
  ASSERT_TRUE(table.ok()) << table.status().message();
  std::set<std::string> models;
  for (const GraphLine &line : readGraphs(*table)) {
    for (const std::string &model : split(line.cells[GraphLine::kModels], " "))
      models.insert(model);
    for (size_t i = GraphLine::kAnswers; i < GraphLine::kCells; ++i)
      EXPECT_TRUE(line.cells[i].find('/') != std::string::npos ||
                  line.cells[i].starts_with("none: "))
          << line.text();
  }
  EXPECT_EQ(models.erase("forms"), 1u);
  EXPECT_EQ(models.size(), 8u);
}

TEST_F(RealCudnnPlans, AreThoseOfTheTable) {
  for (size_t i : chosen()) {
    GraphLine &line = lines_[i];
    const auto start = std::chrono::steady_clock::now();
    const std::string found = answer(line);
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    fmt::print("{:.2f} s: {}: {}\n", took.count(), line.text(), found);
    if (asked("DLC_PLANS_WRITE"))
      line.cells[cell_] = found;
    else if (version_ == kVersion)
      EXPECT_EQ(found, line.cells[cell_]) << line.text();
    else
      EXPECT_EQ(builtOrNot(found), builtOrNot(line.cells[cell_]))
          << line.text();
  }
  if (!asked("DLC_PLANS_WRITE"))
    return;
  std::string table;
  for (const GraphLine &line : lines_)
    table += fmt::format("{}\n", fmt::join(line.cells, " | "));
  ASSERT_TRUE(writeFileAtomically(kFolder + "/graphs.txt", table).ok());
}

} // namespace
