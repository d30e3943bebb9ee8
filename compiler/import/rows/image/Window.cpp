// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/rows/image/Window.h"
#include "compiler/import/tensor/ShapeMath.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {
namespace {

constexpr int64_t kMaxWindow = 1 << 20;

LogicalResult checkWindow(const Node &n, const Window &w) {
  size_t dims = w.kernel.size();
  if (w.strides.size() != dims || w.dilations.size() != dims ||
      w.pads.size() != 2 * dims)
    return n.fail(
        "expected {} strides and dilations and {} pads, found {}, {} and {}",
        dims, 2 * dims, w.strides.size(), w.dilations.size(), w.pads.size());
  auto outside = [](int64_t least) {
    return [least](int64_t v) { return v < least || v > kMaxWindow; };
  };
  if (llvm::any_of(w.kernel, outside(1)) ||
      llvm::any_of(w.strides, outside(1)) ||
      llvm::any_of(w.dilations, outside(1)) || llvm::any_of(w.pads, outside(0)))
    return n.fail(
        "kernel {}, strides {}, dilations {} or pads {} are out of range",
        w.kernel, w.strides, w.dilations, w.pads);
  return success();
}

/// Resolves auto_pad: SAME gives ceil(in / stride) outputs.
LogicalResult resolvePads(const Node &n, ArrayRef<int64_t> in, Window &w) {
  DLC_GET(const auto mode,
          n.choice("auto_pad", "NOTSET",
                   {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}));
  size_t dims = w.kernel.size();
  if (mode == "NOTSET")
    return success();
  w.pads.assign(2 * dims, 0);
  if (mode == "VALID")
    return success();
  for (size_t i = 0; i < dims; ++i) {
    int64_t out = (in[i] + w.strides[i] - 1) / w.strides[i];
    int64_t read = (out - 1) * w.strides[i] + w.along(i).span();
    int64_t total = std::max<int64_t>(0, read - in[i]);
    int64_t begin = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    w.pads[i] = begin;
    w.pads[dims + i] = total - begin;
  }
  return success();
}

} // namespace

FailureOr<Window> window(const Node &n, ArrayRef<int64_t> in,
                         std::vector<int64_t> kernel) {
  Window w;
  size_t dims = in.size();
  w.kernel = n.integers("kernel_shape", std::move(kernel));
  if (w.kernel.size() != dims)
    return n.fail("kernel_shape {} for {} spatial dimensions", w.kernel, dims);
  w.strides = n.integers("strides", std::vector<int64_t>(dims, 1));
  w.dilations = n.integers("dilations", std::vector<int64_t>(dims, 1));
  w.pads = n.integers("pads", std::vector<int64_t>(2 * dims, 0));
  DLC_CHECK(checkWindow(n, w));
  DLC_CHECK(resolvePads(n, in, w));
  return w;
}

LogicalResult checkImage(const Node &n, const Shape &shape) {
  if (ImageDims::areImages(shape.size()))
    return success();
  return n.fail("expected an input of rank 3 to 5, found {}", shape);
}

FailureOr<Window> windowOfWeights(const Node &n, const Shape &x,
                                  const Shape &weights) {
  const Shape kernel(weights.begin() + 2, weights.end());
  auto w = window(n, ArrayRef<int64_t>(x).drop_front(2), kernel);
  if (succeeded(w) && w->kernel != kernel)
    return n.fail("kernel_shape {} for weights of shape {}", w->kernel,
                  weights);
  return w;
}

} // namespace dlc::import
