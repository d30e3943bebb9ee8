// SPDX-License-Identifier: Apache-2.0
// Conventions of exporters and tools that the ONNX standard does not define.
#pragma once
#include "compiler/import/tensor/OnnxMessages.h"
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::import {

/// The model was written by one of torch's exporters, even if it was optimized
/// later, so its names have torch's meaning.
bool isOfTorch(const onnx::ModelProto &model);

/// The model was written by torch's dynamo exporter, but a later tool dropped
/// the notes about merged and folded tensors: no node has one.
bool hasLostNotes(const onnx::ModelProto &model);

/// The model was optimized and saved by a session of onnxruntime, which
/// declares all domains that it knows, used or not.
bool isSavedByOnnxRuntime(const onnx::ModelProto &model);

/// A set of inputs for each operator, as bits: 0b110 is the second and third.
using InputBits = std::map<std::string_view, unsigned>;
bool hasInput(const InputBits &bits, const onnx::NodeProto &node, int input);

/// Input `input` is a layer's weight, for operators of ai.onnx and
/// com.microsoft; false for others.
bool isWeightOperand(const onnx::NodeProto &node, int input);
/// Quantisation scales, class weights and angles, whatever their names are.
bool isSettingOperand(const onnx::NodeProto &node, int input);
/// A value that the node, a Gradient, differentiates with respect to.
bool isDifferentiated(const onnx::NodeProto &node, int input);
/// `tensor` is the low-bit weight of `node`, which must not be unpacked in
/// memory; false if `node` is null.
bool isCodes(const std::string &tensor, const onnx::NodeProto *node);

/// Output channels of a Conv, ConvTranspose, Gemm or MatMul with this weight; 0
/// for other nodes.
int64_t channelsOf(const onnx::NodeProto &node,
                   const std::vector<int64_t> &weight);
/// torch's exporter notes that it applied this rewrite rule to the node.
bool isRewritten(const onnx::NodeProto &node, std::string_view rule);

} // namespace dlc::import
