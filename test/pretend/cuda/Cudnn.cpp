// SPDX-License-Identifier: Apache-2.0
// Every convolution and norm of ResNet-50, forward and gradients, attention,
// and layer norms, as graphs that the real libcudnn accepts: without a driver,
// so engines are not looked for and nothing runs.
#include "runtime/device/cuda/cudnn/Cudnn.h"
#include "CudnnCases.h"

using namespace dlc;
using namespace dlc::test;

namespace {

class CudnnGraphs : public RealCudnn {
protected:
  // No graph has made the frontend open the CUDA runtime.
  void TearDown() override {
    for (const char *name : {"libcudart.so.12", "libcudart.so.13"})
      EXPECT_EQ(::dlopen(name, RTLD_NOW | RTLD_NOLOAD), nullptr) << name;
  }
};

TEST_F(CudnnGraphs, AcceptResNet50) {
  const std::vector<Layer> layers = resnet50();
  EXPECT_EQ(layers.size(), 53u);
  int graphs = 0;
  for (const Layer &layer : layers)
    for (const char *kind :
         {"conv", "conv_backward_data", "conv_backward_filter"})
      for (bool nhwc : {false, true}) {
        const TestCommand command =
            commandOf(layer, kind, nhwc, nhwc ? plan::BF16 : plan::F32);
        const CommandSpec spec = command.spec();
        auto conv = convolutionOf(spec);
        ASSERT_TRUE(conv.ok()) << conv.status().message();
        const Status status = checkConvolution(spec, *conv);
        ASSERT_TRUE(status.ok()) << kind << " " << layer.channels << " -> "
                                 << layer.outputs << ": " << status.message();
        ++graphs;
      }
  EXPECT_EQ(graphs, 53 * 3 * 2);
}

TEST_F(CudnnGraphs, AcceptOneAndThreeDimensions) {
  for (size_t dims : {1, 3})
    for (const Layer &layer : {Layer{16, 16, 32, 3, 1}, Layer{32, 9, 32, 3, 2}})
      for (const char *kind :
           {"conv", "conv_backward_data", "conv_backward_filter"})
        for (bool nhwc : {false, true}) {
          TestCommand command = commandOf(
              layer, kind, nhwc, nhwc ? plan::BF16 : plan::F32, 2, dims);
          if (std::string_view(kind) == "conv")
            command
                .in(reinterpret_cast<std::byte *>(uintptr_t(4) << 32), {32},
                    nhwc ? plan::BF16 : plan::F32)
                .set("has_bias", int64_t(1));
          const CommandSpec spec = command.spec();
          auto conv = convolutionOf(spec);
          ASSERT_TRUE(conv.ok()) << conv.status().message();
          const Status status = checkConvolution(spec, *conv);
          EXPECT_TRUE(status.ok())
              << kind << " " << dims << ": " << status.message();
        }
}

TEST_F(CudnnGraphs, AcceptEpilogues) {
  TestCommand command = commandOf({64, 56, 64, 3, 1}, "conv", true, plan::F16);
  command.in(reinterpret_cast<std::byte *>(uintptr_t(4) << 32), {64},
             plan::F16);
  command.set("has_bias", int64_t(1)).set("activation", "relu");
  const CommandSpec spec = command.spec();
  auto conv = convolutionOf(spec);
  ASSERT_TRUE(conv.ok()) << conv.status().message();
  const Status status = checkConvolution(spec, *conv);
  EXPECT_TRUE(status.ok()) << status.message();
}

// ResNet-50's 53 batch norms as --norm=library makes them; GPT-2's, BERT's,
// ViT's and ConvNeXt's layer norms.
TEST_F(CudnnGraphs, AcceptNorms) {
  std::vector<NormCase> norms;
  for (const Layer &l : resnet50()) {
    const int64_t size = l.size / l.stride;
    norms.push_back({{8, size, size, l.outputs}, false, l.relu, l.residual});
  }
  for (const std::vector<int64_t> &rows :
       {std::vector<int64_t>{8, 1024, 768}, std::vector<int64_t>{4, 512, 1024},
        std::vector<int64_t>{16, 197, 768},
        std::vector<int64_t>{8, 56, 56, 96}})
    norms.push_back({rows, true});
  norms.push_back({{2, 8, 16, 16, 32}, false, true}); // volumes and signals
  norms.push_back({{4, 64, 32}, false, true, true});
  int graphs = 0;
  for (const NormCase &norm : norms)
    for (plan::DType type : {plan::BF16, plan::F16, plan::F32})
      for (bool backward : {false, true})
        for (int sm : {80, 90, 100}) {
          const TestCommand command = commandOf(norm, backward, type);
          const CommandSpec spec = command.spec();
          auto read = normOf(spec);
          ASSERT_TRUE(read.ok()) << read.status().message();
          const Status status = checkNorm(spec, *read, sm);
          ASSERT_TRUE(status.ok()) << norm.x.back() << " wide, sm_" << sm
                                   << ": " << status.message();
          ++graphs;
        }
  EXPECT_EQ(graphs, (53 + 4 + 2) * 3 * 2 * 3);
}

// Images of another size than the statistics are for.
TEST_F(CudnnGraphs, WrongNormsComeBack) {
  const TestCommand command =
      commandOf(NormCase{{8, 14, 14, 64}, false, true, true}, false, plan::F16);
  const CommandSpec spec = command.spec();
  auto norm = normOf(spec);
  ASSERT_TRUE(norm.ok());
  norm->n = 0;
  const Status status = checkNorm(spec, *norm, 90);
  EXPECT_EQ(status.code(), Code::Incompatible);
  EXPECT_EQ(status.message().find("fused_batch_norm 'fused_batch_norm_node': "
                                  "cuDNN: "),
            0u)
      << status.message();
}

// Why an older version cannot do the gradient; empty if it can.
std::string refusal(size_t version, const AttentionShape &s, bool deterministic,
                    int sm) {
  if (version < 91800 && deterministic && sm >= 100)
    return "Deterministic algorithm is not supported on blackwell";
  // The frontend works around a fault of these.
  if (version <= 91500 && s.keys % 128 != 0)
    return "wants memory set before it by the CUDA runtime, which is not used; "
           "update cuDNN to 9.16 or newer, or compile with "
           "--attention=generated";
  return "";
}

// GPT-2 124M in both layouts, BERT-large with padding, ViT-B, and what a GPU's
// results are looked at for.
TEST_F(CudnnGraphs, AcceptAttention) {
  std::vector<AttentionCase> cases = attentionCases();
  cases.push_back({"gpt2", {8, 12, 1024, 1024, 64, 64, true, true}});
  cases.push_back({"gpt2HeadsFirst", {8, 12, 1024, 1024, 64, 64, true}});
  cases.push_back(
      {"bert", {4, 16, 512, 512, 64, 64, false, true, 1, {4, 1, 512, 512}}});
  cases.push_back({"vit", {16, 12, 197, 197, 64, 64}});
  cases.push_back({"depth16", {4, 4, 32, 32, 16, 16, true, true}});
  for (const AttentionCase &c : cases)
    for (plan::DType type : {plan::BF16, plan::F16})
      for (bool backward : {false, true})
        for (int sm : {80, 90, 100}) {
          const TestCommand command = attentionOfShape(c.shape, backward, type);
          const CommandSpec spec = command.spec();
          auto attention = attentionOf(spec);
          ASSERT_TRUE(attention.ok()) << attention.status().message();
          for (bool deterministic : {false, true}) {
            const std::string expected =
                backward ? refusal(version_, c.shape, deterministic, sm) : "";
            const Status status =
                checkAttention(spec, *attention, deterministic, sm);
            EXPECT_EQ(status.ok(), expected.empty()) << status.message();
            EXPECT_NE(status.message().find(expected), std::string::npos)
                << c.name << ", sm_" << sm << (backward ? ", backward" : "")
                << ": " << status.message();
          }
        }
}

TEST_F(CudnnGraphs, WrongHeadsComeBack) {
  const TestCommand command =
      attentionOfShape({2, 4, 64, 64, 12, 12, true, true}, true, plan::BF16);
  const CommandSpec spec = command.spec();
  auto attention = attentionOf(spec);
  ASSERT_TRUE(attention.ok());
  const Status status = checkAttention(spec, *attention, false, 90);
  EXPECT_EQ(status.code(), Code::Incompatible);
  EXPECT_NE(status.message().find("multiple of 8"), std::string::npos)
      << status.message();
}

TEST_F(CudnnGraphs, WhatIsWrongComesBack) {
  const TestCommand command =
      commandOf({64, 56, 64, 3, 1}, "conv", true, plan::BF16);
  const CommandSpec spec = command.spec();
  auto conv = convolutionOf(spec);
  ASSERT_TRUE(conv.ok());
  conv->y.size[1] = 55; // the window gives 56 rows
  const Status status = checkConvolution(spec, *conv);
  EXPECT_EQ(status.code(), Code::Incompatible);
  EXPECT_EQ(status.message().find("conv 'conv_node': cuDNN: "), 0u)
      << status.message();
}

} // namespace
