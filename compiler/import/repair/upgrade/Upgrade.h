// SPDX-License-Identifier: Apache-2.0
// Forms that operators had in older opsets.
#pragma once
#include "compiler/import/file/Functions.h"

namespace dlc::import {

/// Nodes of the newest opset that mean what `node` means in `opset`, in order;
/// none where the node's form is still in use. `unused` makes a name of a value
/// unique.
Result<std::vector<onnx::NodeProto>>
upgraded(const onnx::NodeProto &node, int64_t opset, const UnusedName &unused);
/// The same of ai.onnx for an operator of com.microsoft.
Result<std::vector<onnx::NodeProto>> withoutContrib(const onnx::NodeProto &node,
                                                    const UnusedName &unused);

} // namespace dlc::import
