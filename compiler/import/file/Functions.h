// SPDX-License-Identifier: Apache-2.0
// Checks and inlines the functions of a model.
#pragma once
#include "compiler/import/tensor/Budget.h"
#include "compiler/import/tensor/OnnxMessages.h"
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace dlc::import {

/// Estimated bytes that the import uses for a node, apart from its message.
inline constexpr size_t kMadeNodeBytes = 2048;

/// Inlines every call of a model-local function in the main graph except
/// ai.dlc.StopGradient, with unique names for the body's values. Errors:
/// recursion (also through subgraphs), call depth above 64, graphs nested
/// deeper than 16, and bodies that need another opset version than the model's.
/// Nodes that calls add are charged to `budget`.
Status inlineFunctions(onnx::ModelProto &model, Budget &budget);

/// Returns the given name, or a similar one if a value has it.
using UnusedName = std::function<std::string(std::string)>;
/// Adds the names that it returns to `taken`.
UnusedName unusedNames(std::set<std::string> &taken);

/// The function's nodes with the inputs, outputs and attributes of `call`;
/// their names and those of intermediate values get `prefix`. Charged to
/// `budget`.
Result<std::vector<onnx::NodeProto>>
bodyOf(const onnx::FunctionProto &function, const onnx::NodeProto &call,
       const std::string &prefix, const UnusedName &unused, Budget &budget);

} // namespace dlc::import
