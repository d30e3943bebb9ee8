// Model-local functions: checked and inlined.
#pragma once
#include "runtime/base/Status.h"

namespace onnx {
class ModelProto;
}

namespace dlc::import {

/// Replaces every call of a model-local function in the main graph by the
/// function's body, values renamed to be unique. Refuses recursion (also
/// through subgraphs), call depth above 64, graphs nested deeper than 16,
/// bodies that need another opset version than the model, and more than a
/// million nodes or 256 MiB in all.
Status inlineFunctions(onnx::ModelProto &model);

} // namespace dlc::import
