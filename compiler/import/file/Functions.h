// SPDX-License-Identifier: Apache-2.0
// Functions: those of a model are checked and inlined.
#pragma once
#include "compiler/import/tensor/Budget.h"
#include <functional>
#include <string>
#include <vector>

namespace onnx {
class FunctionProto;
class ModelProto;
class NodeProto;
} // namespace onnx

namespace dlc::import {

/// Replaces every call of a model-local function in the main graph, but
/// ai.dlc.StopGradient, by the function's body, values renamed to be unique.
/// Refuses recursion (also through subgraphs), call depth above 64, graphs
/// nested deeper than 16 and bodies that need another opset version than the
/// model. Nodes that calls add are charged to `budget`.
Status inlineFunctions(onnx::ModelProto &model, Budget &budget);

/// The wanted name, or another where a value has it.
using UnusedName = std::function<std::string(std::string)>;

/// The function's nodes as `call` gives its inputs, outputs and attributes:
/// their names and those of inner values begin with `prefix`. Charged to
/// `budget`.
Result<std::vector<onnx::NodeProto>>
bodyOf(const onnx::FunctionProto &function, const onnx::NodeProto &call,
       const std::string &prefix, const UnusedName &unused, Budget &budget);

} // namespace dlc::import
