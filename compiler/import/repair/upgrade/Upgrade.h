// SPDX-License-Identifier: Apache-2.0
// Upgrades operators from older opsets.
#pragma once
#include "compiler/import/file/Functions.h"

namespace dlc::import {

/// Nodes of the newest opset, in order, equivalent to `node` of `opset`; empty
/// if the node's form is still valid. `unused` returns a unique value name.
Result<std::vector<onnx::NodeProto>>
upgraded(const onnx::NodeProto &node, int64_t opset, const UnusedName &unused);
/// The same, with nodes of ai.onnx for an operator of com.microsoft.
Result<std::vector<onnx::NodeProto>> withoutContrib(const onnx::NodeProto &node,
                                                    const UnusedName &unused);

} // namespace dlc::import
