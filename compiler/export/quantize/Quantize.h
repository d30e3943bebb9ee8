// SPDX-License-Identifier: Apache-2.0
// Integers of 8 bits for what a model's convolutions and products read, as
// pairs of QuantizeLinear and DequantizeLinear (QDQ).
#pragma once

#include "runtime/base/Status.h"

#include "onnx-ml.pb.h"

#include <map>
#include <string>
#include <vector>

namespace dlc::exporter {

/// A node that stays in f32, and why.
struct NotQuantized {
  std::string node, op, why;
};

/// What of a model will be quantized: Conv, Gemm and MatMul whose weight is an
/// f32 initializer, also through a Transpose.
struct QuantizationPlan {
  /// Values whose ranges are needed: what these nodes read, in their order.
  std::vector<std::string> activations;
  std::vector<std::string> nodes;      // by name, or by their first output
  std::vector<NotQuantized> left;      // other Conv, Gemm, MatMul
  std::map<std::string, int> otherOps; // that stay in f32: how many of each
};

/// BadModel for an opset below 13, which has no scale for each channel, and for
/// a model that is quantized already; Failed if nothing can be.
Result<QuantizationPlan> planQuantization(const onnx::ModelProto &model);

/// The model with these values as outputs, "<value>" or, of a graph's input,
/// "<value>_observed", in this order behind its own; their names.
std::vector<std::string> observe(onnx::ModelProto &model,
                                 const std::vector<std::string> &values);

/// Of a value's elements.
struct ValueRange {
  float low = 0, high = 0;
};

/// Puts int8 in, by the usual scheme (Jacob et al. 2018, arXiv:1712.05877; Wu
/// et al. 2020, arXiv:2004.09602): an activation x is s (q - z) with one scale
/// and zero point, from min(low, 0) to max(high, 0) in 255 steps; a weight s q
/// with |q| <= 127 and a scale for each output channel, max |w| / 127 or as
/// much more as its bias needs; a bias of a Conv, or of a Gemm that has one for
/// each channel, is an i32 times both scales, or f32 where that has no room.
/// Numbers are rounded to nearest, ties to even. Names of nodes, inputs and
/// outputs stay; of a weight W there are W_quantized, W_scale and W_zero_point,
/// and W goes if no other node reads it. `ranges`: of all of plan.activations.
/// Returns the biases that stay f32.
std::vector<std::string>
quantize(onnx::ModelProto &model,
         const std::map<std::string, ValueRange> &ranges);

} // namespace dlc::exporter
