// SPDX-License-Identifier: Apache-2.0
// What writers of models mean, beyond what ONNX says.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace onnx {
class ModelProto;
class NodeProto;
} // namespace onnx

namespace dlc::import {

/// One of torch's exporters wrote it, whatever optimized the file since then:
/// names mean what torch means by them.
bool isOfTorch(const onnx::ModelProto &model);

/// torch's newer exporter wrote it, whose notes say what it merged and folded,
/// and a tool after it dropped them: no node has any.
bool hasLostNotes(const onnx::ModelProto &model);

/// A session of onnxruntime optimized and saved it: it declares all the domains
/// that onnxruntime knows, used or not.
bool isSavedByOnnxRuntime(const onnx::ModelProto &model);

/// Some inputs of each operator, as bits: 0b110 is of the second and the third.
using InputBits = std::map<std::string_view, unsigned>;
bool hasInput(const InputBits &bits, const onnx::NodeProto &node, int input);

/// Input `input` is a layer's weight: of ai.onnx's operators and of
/// com.microsoft's; false for others.
bool isWeightOperand(const onnx::NodeProto &node, int input);
/// Scales of quantisation, class weights and angles, whatever their names.
bool isSettingOperand(const onnx::NodeProto &node, int input);
/// One of the values that the node gives derivatives by.
bool isDifferentiated(const onnx::NodeProto &node, int input);
/// Whether `node` has the tensor for a weight in few bits, which is never to be
/// there in more; null: it has not.
bool isCodes(const std::string &tensor, const onnx::NodeProto *node);

} // namespace dlc::import
