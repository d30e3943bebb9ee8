// What writers of models mean, beyond what ONNX says.
#pragma once

namespace onnx {
class ModelProto;
class NodeProto;
} // namespace onnx

namespace dlc::import {

/// One of torch's exporters wrote it, whatever optimized the file since then:
/// names mean what torch means by them.
bool isOfTorch(const onnx::ModelProto &model);

/// Input `input` is a layer's weight: of ai.onnx's operators and of
/// com.microsoft's; false for others.
bool isWeightOperand(const onnx::NodeProto &node, int input);

} // namespace dlc::import
