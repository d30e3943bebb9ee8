// SPDX-License-Identifier: Apache-2.0
// Commands as models have them, for the real libcudnn: operands are at
// addresses that are never read.
#pragma once

#include "Fixture.h"
#include "runtime/base/process/SharedLibrary.h"
#include "runtime/device/cuda/cudnn/Cudnn.h"
#include "test/device/AttentionCases.h"

#include <optional>

namespace dlc::test {

// Skipped without the real library.
class RealCudnn : public testing::Test {
protected:
  void SetUp() override {
    auto library = SharedLibrary::open({"libcudnn.so.9"}, "the test");
    if (!library.ok() || library->find("dlcCudnn"))
      GTEST_SKIP() << "there is no real libcudnn.so.9";
#ifndef DLC_HAS_CUDNN_FRONTEND
    GTEST_SKIP() << "built without cudnn-frontend";
#endif
    version_ =
        reinterpret_cast<size_t (*)()>(library->find("cudnnGetVersion"))();
  }

  size_t version_ = 0; // 91900 for 9.19.0
};

struct Layer {
  int64_t channels, size, outputs, kernel, stride;
  // Behind its norm: a ReLU, the residual's addition first.
  bool relu = true, residual = false;
  int64_t group = 1, pad = -1; // -1: half a kernel
};

// The stem; then in each stage 1x1, 3x3, 1x1 and the shortcut of its first
// block, and 1x1, 3x3, 1x1 of the others.
inline std::vector<Layer> resnet50() {
  std::vector<Layer> layers = {{3, 224, 64, 7, 2}};
  int64_t channels = 64, size = 56;
  const int64_t blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t width = int64_t(64) << stage;
    for (int64_t block = 0; block < blocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      layers.push_back({channels, size, width, 1, 1});
      layers.push_back({width, size, width, 3, stride});
      layers.push_back({width, size / stride, width * 4, 1, 1, true, true});
      if (block == 0)
        layers.push_back({channels, size, width * 4, 1, stride, false});
      channels = width * 4;
      size /= stride;
    }
  }
  return layers;
}

// Of images of `dims` equal sizes; filters are channels last where images are,
// unless told.
inline TestCommand commandOf(const Layer &l, const char *kind, bool nhwc,
                             plan::DType type, int64_t batch = 8,
                             size_t dims = 2,
                             std::optional<bool> filters = {}) {
  const bool filtersLast = filters.value_or(nhwc);
  const int64_t pad = l.pad < 0 ? l.kernel / 2 : l.pad;
  const int64_t out = (l.size + 2 * pad - l.kernel) / l.stride + 1;
  const auto image = [&](int64_t channels, int64_t size) {
    std::vector<int64_t> shape(dims, size);
    shape.insert(shape.begin(), batch);
    shape.insert(nhwc ? shape.end() : shape.begin() + 1, channels);
    return shape;
  };
  const auto x = image(l.channels, l.size), y = image(l.outputs, out);
  std::vector<int64_t> w(dims, l.kernel);
  w.insert(filtersLast ? w.end() : w.begin(), l.channels / l.group);
  w.insert(w.begin(), l.outputs);
  // Never read: only shapes matter.
  const auto at = [](uintptr_t n) {
    return reinterpret_cast<std::byte *>(n << 32);
  };
  TestCommand command(kind);
  if (std::string_view(kind) == "conv")
    command.in(at(1), x, type).in(at(2), w, type).out(at(3), y, type);
  else if (std::string_view(kind) == "conv_backward_data")
    command.in(at(3), y, type).in(at(2), w, type).out(at(1), x, type);
  else
    command.in(at(1), x, type).in(at(3), y, type).out(at(2), w, type);
  command.list("strides", std::vector<int64_t>(dims, l.stride));
  command.list("pads", std::vector<int64_t>(2 * dims, pad));
  command.list("dilations", std::vector<int64_t>(dims, 1));
  command.set("group", l.group);
  if (nhwc)
    command.set("layout", "nhwc");
  if (filtersLast)
    command.set("filters_last", int64_t(1));
  return command;
}

// MobileNet-V3 large: of each block the expansion, the depthwise convolution,
// the two of its squeeze and excitation, and the projection.
inline std::vector<Layer> mobilenetV3() {
  struct Block {
    int64_t kernel, expanded, outputs, stride;
    bool squeezes;
  };
  const Block blocks[] = {
      {3, 16, 16, 1, false},  {3, 64, 24, 2, false},  {3, 72, 24, 1, false},
      {5, 72, 40, 2, true},   {5, 120, 40, 1, true},  {5, 120, 40, 1, true},
      {3, 240, 80, 2, false}, {3, 200, 80, 1, false}, {3, 184, 80, 1, false},
      {3, 184, 80, 1, false}, {3, 480, 112, 1, true}, {3, 672, 112, 1, true},
      {5, 672, 160, 2, true}, {5, 960, 160, 1, true}, {5, 960, 160, 1, true}};
  std::vector<Layer> layers = {{3, 224, 16, 3, 2}};
  int64_t channels = 16, size = 112;
  for (const Block &b : blocks) {
    if (b.expanded != channels)
      layers.push_back({channels, size, b.expanded, 1, 1});
    layers.push_back({b.expanded, size, b.expanded, b.kernel, b.stride, true,
                      false, b.expanded});
    size /= b.stride;
    if (b.squeezes) {
      const int64_t least = (b.expanded / 4 + 4) / 8 * 8;
      const int64_t squeezed =
          least * 10 < b.expanded / 4 * 9 ? least + 8 : least;
      layers.push_back({b.expanded, 1, squeezed, 1, 1});
      layers.push_back({squeezed, 1, b.expanded, 1, 1});
    }
    layers.push_back({b.expanded, size, b.outputs, 1, 1});
    channels = b.outputs;
  }
  layers.push_back({channels, size, 960, 1, 1});
  return layers;
}

// ViT-B/16: its patches.
inline std::vector<Layer> vitB() {
  return {{3, 224, 768, 16, 16, false, false, 1, 0}};
}

struct NormCase {
  std::vector<int64_t> x; // images channels last, or rows
  bool isLayer = false, relu = false, residual = false;
};

inline TestCommand commandOf(const NormCase &c, bool backward,
                             plan::DType type) {
  const auto at = [](uintptr_t n) {
    return reinterpret_cast<std::byte *>(n << 32);
  };
  const std::vector<int64_t> width = {c.x.back()};
  std::vector<int64_t> saved = width;
  if (c.isLayer) {
    saved = c.x;
    saved.back() = 1;
  }
  TestCommand command(std::string(c.isLayer ? "fused_layer" : "fused_batch") +
                      (backward ? "_norm_backward" : "_norm"));
  if (backward) {
    command.in(at(1), c.x, type).in(at(2), c.x, type).in(at(3), width);
    command.in(at(4), saved).in(at(5), saved);
    if (c.relu && !c.residual)
      command.in(at(6), width).set("has_bias", int64_t(1));
    command.out(at(7), c.x, type).out(at(8), width).out(at(9), width);
  } else {
    command.in(at(1), c.x, type).in(at(2), width).in(at(3), width);
    if (c.residual)
      command.in(at(4), c.x, type).set("has_residual", int64_t(1));
    command.out(at(5), c.x, type).out(at(6), saved).out(at(7), saved);
    command.set("relu", int64_t(c.relu));
  }
  if (c.isLayer)
    command.set("axis", static_cast<int64_t>(c.x.size()) - 1);
  return command;
}

// Attention, and its gradient, of operands at addresses that are never read;
// `joint`: of queries, keys and values side by side.
inline TestCommand attentionOfShape(const AttentionShape &s, bool backward,
                                    plan::DType type, bool joint = false) {
  const auto at = [](uintptr_t n) {
    return reinterpret_cast<std::byte *>(n << 32);
  };
  const std::vector<int64_t> q = s.rows(s.queries, s.depth),
                             k = s.rows(s.keys, s.depth),
                             all = {s.batch, s.queries, 3 * s.heads, s.depth},
                             sums = {s.batch, s.heads, s.queries, 1};
  TestCommand command(std::string(joint ? "attention_joint" : "attention") +
                      (backward ? "_backward" : ""));
  if (backward)
    command.in(at(1), q, type);
  if (joint)
    command.in(at(2), all, type);
  else
    command.in(at(2), q, type).in(at(3), k, type).in(at(4), k, type);
  if (backward)
    command.in(at(5), q, type).in(at(6), sums);
  if (s.hasMask())
    command.in(at(7), {s.mask.begin(), s.mask.end()}, type)
        .set("has_mask", int64_t(1));
  if (!backward)
    command.out(at(5), q, type).out(at(6), sums);
  else if (joint)
    command.out(at(8), all, type);
  else
    command.out(at(8), q, type).out(at(9), k, type).out(at(10), k, type);
  if (!joint)
    command.set("layout", s.lengthFirst ? "bthd" : "bhtd");
  command.set("causal", int64_t(s.causal));
  return command;
}

} // namespace dlc::test
