// SPDX-License-Identifier: Apache-2.0
// Plans of the real libcudnn for convolutions on an H200, without one and
// without a driver: for both layouts of filters, in three types. They are
// printed, a convolution a line, with their scratch, which shows hidden
// conversions of filters.
#include "runtime/base/files/Files.h"
#include "test/pretend/cuda/CudnnCases.h"

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

} // namespace
