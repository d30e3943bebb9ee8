// Model-local functions: checked and inlined.
#pragma once
#include "compiler/import/tensor/Budget.h"

namespace onnx {
class ModelProto;
}

namespace dlc::import {

/// Replaces every call of a model-local function in the main graph by the
/// function's body, values renamed to be unique. Refuses recursion (also
/// through subgraphs), call depth above 64, graphs nested deeper than 16 and
/// bodies that need another opset version than the model. Nodes that calls add
/// are charged to `budget`.
Status inlineFunctions(onnx::ModelProto &model, Budget &budget);

} // namespace dlc::import
