// SPDX-License-Identifier: Apache-2.0
// What a tensor is to its operator, where that says whether it trains.
#pragma once
#include <string>

namespace onnx {
class NodeProto;
}

namespace dlc::import {

/// Scales of quantisation and class weights, whatever their names.
bool isSetting(const onnx::NodeProto &node, int input);

/// One of the values that the node gives derivatives by.
bool isDifferentiated(const onnx::NodeProto &node, int input);

/// Whether `node` has the tensor for a weight in few bits, which is never to be
/// there in more; null: it has not.
bool isCodes(const std::string &tensor, const onnx::NodeProto *node);

} // namespace dlc::import
