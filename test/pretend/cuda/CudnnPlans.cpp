// SPDX-License-Identifier: Apache-2.0
// What the real libcudnn has for an H200, without one and without a driver: it
// takes a description of the GPU (test/gpu/h200.json, written by hand until a
// GPU gives its own: gpu-facts) and lists engines; convolutions' plans it
// builds. Nothing runs. The list is printed: a convolution a line, with its
// plan's scratch, which shows hidden conversions of filters.
#include "CudnnCases.h"
#include "runtime/base/files/Files.h"

#include <set>

using namespace dlc;
using namespace dlc::test;

namespace {

class CudnnPlans : public RealCudnn {
protected:
  void SetUp() override {
    RealCudnn::SetUp();
    if (IsSkipped())
      return;
    if (version_ < 90800)
      GTEST_SKIP() << "cuDNN " << version_ << " takes no descriptions of GPUs";
    auto json = readFile(DLC_H200_JSON);
    ASSERT_TRUE(json.ok()) << json.status().message();
    gpu_ = {90, *json};
  }

  AbsentGpu gpu_;
};

const char *nameOfType(plan::DType type) {
  return type == plan::F32 ? "f32" : type == plan::F16 ? "f16" : "bf16";
}

// Each convolution that differs, once.
std::vector<Layer> layersOf(const std::vector<std::vector<Layer>> &models) {
  std::vector<Layer> result;
  std::set<std::vector<int64_t>> seen;
  for (const auto &model : models)
    for (const Layer &l : model)
      if (seen.insert({l.channels, l.size, l.outputs, l.kernel, l.stride,
                       l.group, l.pad})
              .second)
        result.push_back(l);
  return result;
}

TEST_F(CudnnPlans, OfEveryConvolution) {
  const std::vector<Layer> layers =
      layersOf({resnet50(), mobilenetV3(), vitB()});
  const CudnnLimits limits = {.workspace = uint64_t(1) << 30,
                              .deterministic = true};
  int graphs = 0;
  for (const Layer &l : layers)
    for (const char *kind :
         {"conv", "conv_backward_data", "conv_backward_filter"})
      for (plan::DType type : {plan::F32, plan::BF16, plan::F16}) {
        std::string line;
        for (bool filterLast : {false, true}) {
          const TestCommand command =
              commandOf(l, kind, true, type, 8, 2, filterLast);
          const CommandSpec spec = command.spec();
          auto conv = convolutionOf(spec);
          ASSERT_TRUE(conv.ok()) << conv.status().message();
          const auto plans = plansOfConvolution(spec, *conv, limits, gpu_);
          EXPECT_TRUE(plans.ok())
              << kind << " " << nameOfType(type) << " " << l.channels << " -> "
              << l.outputs << ", " << l.kernel << "x" << l.kernel << "/"
              << l.stride << ", groups " << l.group
              << (filterLast ? ", KRSC: " : ", KCRS: ")
              << plans.status().message();
          line += plans.ok() ? fmt::format(" {:>12}", plans->front().workspace)
                             : "        none";
          ++graphs;
        }
        fmt::print("{:<21} {:<4} {:>4} -> {:>4} of {:>3}, {:>2}x{:<2}/{:<2} "
                   "groups {:>3}; bytes of scratch, KCRS and KRSC:{}\n",
                   kind, nameOfType(type), l.channels, l.outputs, l.size,
                   l.kernel, l.kernel, l.stride, l.group, line);
      }
  fmt::print("{} graphs\n", graphs);
  EXPECT_EQ(graphs, static_cast<int>(layers.size()) * 3 * 3 * 2);
}

TEST_F(CudnnPlans, OfAttention) {
  std::vector<AttentionCase> cases = attentionCases();
  cases.push_back({"gpt2", {8, 12, 1024, 1024, 64, 64, true, true}});
  cases.push_back(
      {"bert", {4, 16, 512, 512, 64, 64, false, true, 1, {4, 1, 512, 512}}});
  for (const AttentionCase &c : cases)
    for (plan::DType type : {plan::BF16, plan::F16})
      for (bool backward : {false, true})
        for (bool joint : {false, true}) {
          if (joint &&
              (!c.shape.lengthFirst || c.shape.queries != c.shape.keys))
            continue;
          const TestCommand command =
              attentionOfShape(c.shape, backward, type, joint);
          const CommandSpec spec = command.spec();
          auto attention = attentionOf(spec);
          ASSERT_TRUE(attention.ok()) << attention.status().message();
          const auto count = countAttention(spec, *attention, false, gpu_);
          EXPECT_TRUE(count.ok() && *count > 0)
              << c.name << " as " << spec.command.kind() << ": "
              << count.status().message();
          fmt::print("{} {} {}: {} engines\n", spec.command.kind(), c.name,
                     nameOfType(type), count.ok() ? *count : 0);
        }
}

TEST_F(CudnnPlans, OfNorms) {
  for (const NormCase &norm :
       {NormCase{{8, 56, 56, 64}}, NormCase{{8, 56, 56, 64}, false, true},
        NormCase{{8, 14, 14, 1024}, false, true, true},
        NormCase{{8, 1024, 768}, true}, NormCase{{4, 512, 1024}, true}})
    for (plan::DType type : {plan::BF16, plan::F16, plan::F32})
      for (bool backward : {false, true}) {
        const TestCommand command = commandOf(norm, backward, type);
        const CommandSpec spec = command.spec();
        auto read = normOf(spec);
        ASSERT_TRUE(read.ok()) << read.status().message();
        const auto count = countNorm(spec, *read, gpu_);
        EXPECT_TRUE(count.ok() && *count > 0) << count.status().message();
        fmt::print("{} {} wide {}: {} engines\n", spec.command.kind(),
                   norm.x.back(), nameOfType(type), count.ok() ? *count : 0);
      }
}

} // namespace
