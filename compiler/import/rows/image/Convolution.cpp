// SPDX-License-Identifier: Apache-2.0
// Convolutions.
#include "compiler/import/rows/image/Window.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {

Value biasOf(const Node &n, size_t input) {
  if (const HostTensor *known = n.host(input))
    if (known->isSplat() && known->number(0) == 0)
      return nullptr;
  return n.has(input) ? n.in(input) : Value();
}

Value withBias(const Node &n, Value y, size_t input) {
  Value bias = biasOf(n, input);
  if (!y || !bias)
    return y;
  Shape perChannel(shapeOf(y).size(), 1);
  perChannel[1] = shapeOf(y)[1];
  if (shapeOf(bias) != Shape{perChannel[1]}) {
    n.fail("a bias of shape {} for {} channels", shapeOf(bias), perChannel[1]);
    return nullptr;
  }
  return n.make<ir::AddOp>(y, n.reshape(bias, perChannel));
}

Value convolution(const Node &n, Value x, Value w, Value bias) {
  if (!x || !w || failed(checkImage(n, shapeOf(x))))
    return nullptr;
  Shape sx = shapeOf(x), sw = shapeOf(w);
  if (sw.size() != sx.size()) {
    n.fail("weights of shape {} for an input of shape {}", sw, sx);
    return nullptr;
  }
  int64_t group = n.integer("group", 1);
  if (group < 1 || group > std::max<int64_t>(1, sx[1])) {
    n.fail("group is {}, expected 1 to the {} channels of the input", group,
           sx[1]);
    return nullptr;
  }
  auto win = windowOfWeights(n, sx, sw);
  if (failed(win))
    return nullptr;
  return n.make<ir::ConvOp>(
      x, w, bias, ArrayRef<int64_t>(win->strides), ArrayRef<int64_t>(win->pads),
      ArrayRef<int64_t>(win->dilations), uint64_t(group), "nchw");
}

namespace {

/// Spatial sizes of ConvTranspose's result. If the size is given (or SAME: in *
/// stride), the pads are derived from it.
FailureOr<Shape> transposedSizes(const Node &n, ArrayRef<int64_t> in,
                                 Window &w) {
  size_t dims = in.size();
  auto extra = n.integers("output_padding", std::vector<int64_t>(dims, 0));
  auto wanted = n.integers("output_shape", {});
  std::string mode = n.text("auto_pad", "NOTSET");
  if (extra.size() != dims || (!wanted.empty() && wanted.size() != dims))
    return n.fail("expected {} numbers in output_padding and output_shape, "
                  "found {} and {}",
                  dims, extra, wanted);
  Shape out;
  for (size_t i = 0; i < dims; ++i) {
    int64_t whole = (in[i] - 1) * w.strides[i] + extra[i] +
                    (w.kernel[i] - 1) * w.dilations[i] + 1;
    if (!wanted.empty() || StringRef(mode).starts_with("SAME")) {
      int64_t size = wanted.empty() ? in[i] * w.strides[i] : wanted[i];
      int64_t total = std::max<int64_t>(0, whole - size);
      w.pads[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.pads[dims + i] = total - w.pads[i];
      out.push_back(size);
    } else {
      out.push_back(whole - w.pads[i] - w.pads[dims + i]);
    }
    if (out[i] < 1 || extra[i] < 0 || w.along(i).outputs(out[i]) != in[i])
      return n.fail("output_padding {} or output_shape {} is not supported for "
                    "an input of {} and strides {}",
                    extra, wanted, Shape(in), w.strides);
  }
  return out;
}

/// The input gradient of a convolution with these weights.
LogicalResult convTranspose(const Node &n) {
  Value x = n.in(0), w = n.in(1);
  if (!x || !w)
    return failure();
  Shape sx = shapeOf(x), sw = shapeOf(w);
  DLC_CHECK(checkImage(n, sx));
  int64_t group = n.integer("group", 1);
  if (sw.size() != sx.size() || sw[0] != sx[1] || group < 1 || sw[0] % group)
    return n.fail("weights of shape {} in {} groups for an input of shape {}",
                  sw, group, sx);
  DLC_GET(auto win, windowOfWeights(n, sx, sw));
  DLC_GET(auto out,
          transposedSizes(n, ArrayRef<int64_t>(sx).drop_front(2), win));
  Shape shape{sx[0], sw[1] * group};
  shape.insert(shape.end(), out.begin(), out.end());
  Value y = n.makeAs<ir::ConvBackwardDataOp>(
      RankedTensorType::get(shape, ir::elementType(x)), x, w, win.strides,
      win.pads, win.dilations, uint64_t(group), "nchw");
  return n.result(withBias(n, y, 2));
}

} // namespace

void addConvolutionRows(Rows &rows) {
  rows["Conv"] = [](const Node &n) {
    Value x = n.in(0), w = n.in(1); // fixes their order in the program
    return n.result(convolution(n, x, w, biasOf(n, 2)));
  };
  rows["ConvTranspose"] = convTranspose;
}

} // namespace dlc::import
