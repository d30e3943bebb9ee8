// SPDX-License-Identifier: Apache-2.0
// What cuDNN and cuBLASLt have engines for.
#include "runtime/base/files/Atomic.h"
#include "runtime/device/TuneChoices.h"
#include "test/gpu/Trial.h"

#include <cmath>

namespace dlc::test {
namespace {

constexpr plan::DType kFloats[] = {plan::F32, plan::BF16, plan::F16};

Ordered convolution(plan::DType type, int64_t channels, int64_t outputs,
                    const std::string &kind, bool filtersLast = true) {
  const std::vector<int64_t> x = {16, 28, 28, channels},
                             w = filtersLast
                                     ? std::vector<int64_t>{outputs, 3, 3,
                                                            channels}
                                     : std::vector<int64_t>{outputs, channels,
                                                            3, 3},
                             y = {16, 28, 28, outputs};
  Trial trial(kind);
  if (kind == "conv") {
    trial.in(type, x);
    trial.in(type, w);
    trial.in(type, {outputs});
    trial.out(type, y);
    trial.attribute("has_bias").set_i(1);
    trial.attribute("activation").set_s("relu");
  } else if (kind == "conv_backward_data") {
    trial.in(type, y);
    trial.in(type, w);
    trial.out(type, x);
  } else {
    trial.in(type, x);
    trial.in(type, y);
    trial.out(type, w);
  }
  trial.ints("strides", {1, 1});
  trial.ints("pads", {1, 1, 1, 1});
  trial.ints("dilations", {1, 1});
  trial.attribute("group").set_i(1);
  trial.attribute("layout").set_s("nhwc");
  trial.attribute("filters_last").set_i(filtersLast);
  return trial.measured({{"kind", kind},
                         {"channels", channels},
                         {"outputs", outputs},
                         {"filters", filtersLast ? "krsc" : "kcrs"}});
}

Ordered product(plan::DType type, int64_t rows, int64_t columns,
                const std::string &activation) {
  Trial trial("matmul");
  trial.in(type, {rows, columns});
  trial.in(type, {columns, columns});
  trial.in(type, {columns});
  trial.out(type, {rows, columns});
  trial.attribute("has_bias").set_i(1);
  trial.attribute("activation").set_s(activation);
  return trial.measured(
      {{"kind", "matmul"}, {"columns", columns}, {"activation", activation}});
}

// What a product keeps of gelu, and what it sums: the epilogues AUX and BGRAD.
Ordered epilogue(plan::DType type, int64_t columns, const std::string &kind,
                 const std::string &what) {
  constexpr int64_t kRows = 512;
  Trial trial(kind);
  const std::vector<int64_t> y = {kRows, columns};
  if (kind == "matmul_bias_backward") { // what: the operand that is summed
    trial.in(type, y);
    trial.in(type, y);
    trial.out(type, {columns, columns});
    trial.out(type, {columns});
    trial.attribute("trans_a").set_i(1);
    trial.attribute("of").set_s(what);
  } else {
    trial.in(type, y);
    trial.in(type, {columns, columns});
    trial.in(type, {columns});
    trial.out(type, y);
    trial.out(type, y);
    trial.attribute("has_bias").set_i(1);
    trial.attribute("activation").set_s(what);
  }
  return trial.measured({{"kind", kind}, {"columns", columns}, {"of", what}});
}

// A long sum for few results: libraries split it between blocks.
Ordered longSum(plan::DType type) {
  Trial trial("matmul");
  trial.in(type, {64, 65536});
  trial.in(type, {65536, 64});
  trial.out(type, {64, 64});
  return trial.measured({{"kind", "matmul"}, {"summed", 65536}});
}

Ordered attention(plan::DType type, int64_t depth, bool causal, bool mask,
                  bool backward) {
  const std::vector<int64_t> rows = {1, 64, 1, depth}, sums = {1, 1, 64, 1};
  Trial trial(backward ? "attention_backward" : "attention");
  for (int i = 0; i < (backward ? 5 : 3); ++i)
    trial.in(type, rows);
  if (backward)
    trial.in(plan::F32, sums);
  if (mask)
    trial.in(type, {1, 1, 64, 64});
  for (int i = 0; i < (backward ? 3 : 1); ++i)
    trial.out(type, rows);
  if (!backward)
    trial.out(plan::F32, sums);
  trial.attribute("scale").set_f(1 / std::sqrt(double(depth)));
  trial.attribute("layout").set_s("bthd");
  trial.attribute("causal").set_i(causal);
  trial.attribute("has_mask").set_i(mask);
  return trial.measured(
      {{"kind", backward ? "attention_backward" : "attention"},
       {"depth", depth},
       {"causal", causal},
       {"mask", mask}});
}

// Of images, with what is fused behind it; or of rows.
Ordered norm(plan::DType type, bool isLayer, bool backward, bool relu,
             bool residual) {
  const int64_t channels = 64;
  const std::vector<int64_t> x = isLayer ? std::vector<int64_t>{4, 49, channels}
                                         : std::vector{int64_t(4), int64_t(7),
                                                       int64_t(7), channels},
                             saved = {isLayer ? 4 * 49 : channels};
  const std::string kind =
      std::string(isLayer ? "fused_layer_norm" : "fused_batch_norm") +
      (backward ? "_backward" : "");
  Trial trial(kind);
  for (int i = 0; i < 1 + backward; ++i)
    trial.in(type, x);
  trial.in(plan::F32, {channels});
  trial.in(plan::F32, backward ? saved : std::vector{channels});
  if (backward)
    trial.in(plan::F32, saved);
  if (backward && relu)
    trial.in(plan::F32, {channels});
  if (residual)
    trial.in(type, x);
  trial.out(type, x);
  for (int i = 0; i < 2; ++i)
    trial.out(plan::F32, backward ? std::vector{channels} : saved);
  trial.attribute("epsilon").set_f(1e-5);
  trial.attribute("axis").set_i(2);
  trial.attribute("has_residual").set_i(residual);
  trial.attribute(backward ? "has_bias" : "relu").set_i(relu);
  return trial.measured(
      {{"kind", kind}, {"relu", relu}, {"residual", residual}});
}

} // namespace

Ordered normFacts() {
  Ordered list = Ordered::array();
  for (const plan::DType type : kFloats) {
    for (const bool backward : {false, true})
      list.push_back(norm(type, true, backward, false, false));
    for (const bool relu : {false, true})
      for (const bool backward : {false, true})
        list.push_back(norm(type, false, backward, relu, false));
    list.push_back(norm(type, false, false, true, true));
  }
  return list;
}

Ordered convolutionFacts(bool all) {
  Ordered list = Ordered::array();
  for (const plan::DType type : kFloats)
    for (const int64_t channels : {3, 4, 6, 8, 64})
      for (const int64_t outputs : {6, 64})
        for (const char *kind :
             {"conv", "conv_backward_data", "conv_backward_filter"})
          if (all || (channels >= 8 && outputs == 64))
            list.push_back(convolution(type, channels, outputs, kind));
  // What filters cost that are not laid out as the images.
  for (const char *kind :
       {"conv", "conv_backward_data", "conv_backward_filter"})
    list.push_back(convolution(plan::BF16, 64, 64, kind, false));
  return list;
}

Ordered productFacts() {
  Ordered list = Ordered::array();
  for (const plan::DType type : kFloats)
    for (const int64_t columns : {255, 260, 264})
      for (const char *activation : {"", "relu", "gelu_tanh"})
        list.push_back(product(type, 512, columns, activation));
  for (const plan::DType type : kFloats) {
    list.push_back(longSum(type));
    for (const int64_t columns : {64, 255, 264}) {
      list.push_back(epilogue(type, columns, "matmul_activation", "gelu_tanh"));
      for (const char *of : {"a", "b"})
        list.push_back(epilogue(type, columns, "matmul_bias_backward", of));
    }
  }
  return list;
}

// A GPU that was opened, closed and opened again does what it did.
Ordered reopenFacts() {
  const auto run = [] {
    return Ordered::array({convolution(plan::BF16, 64, 64, "conv"),
                           product(plan::BF16, 512, 264, "")});
  };
  Ordered facts = {{"first", run()}};
  closeGpu();
  facts["again"] = run();
  return facts;
}

// What is the fastest does not depend on how much is written to empty the cache
// before each run, if that is enough.
Ordered flushFacts() {
  Ordered facts;
  for (const int caches : {2, 4, 8}) {
    closeGpu();
    const auto folder = TemporaryFolder::create("dlc-facts");
    TuneOptions tune;
    tune.mode = TuneOptions::Mode::Benchmark;
    tune.flush = caches;
    if (folder)
      tune.cacheFolder = folder->path();
    tune.choices = std::make_shared<TuneChoices>();
    (void)gpu(tune);
    for (const char *kind :
         {"conv", "conv_backward_data", "conv_backward_filter"})
      convolution(plan::BF16, 64, 64, kind);
    product(plan::BF16, 512, 264, "");
    facts[std::to_string(caches)] = tune.choices->describe();
  }
  closeGpu();
  return facts;
}

Ordered attentionFacts() {
  Ordered list = Ordered::array();
  for (const bool backward : {false, true})
    for (const int64_t depth : {64, 128}) {
      for (const plan::DType type : {plan::BF16, plan::F16})
        for (const bool causal : {false, true})
          list.push_back(attention(type, depth, causal, false, backward));
      list.push_back(attention(plan::BF16, depth, false, true, backward));
    }
  return list;
}

} // namespace dlc::test
