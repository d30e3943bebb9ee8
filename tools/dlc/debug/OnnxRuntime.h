// SPDX-License-Identifier: Apache-2.0
// onnxruntime, in a Python that has it, as a side of `dlc debug compare`.
#pragma once

#include "runtime/train/compare/NodeResults.h"

#include <string>

namespace dlc::tool {

// All results of the nodes of model.onnx in `folder`, which may be changed, for
// a batch: without onnxruntime's own optimizations, on the CPU, in the form for
// inference. A process of `python` each time. Code::Failed, with what it said:
// it does not start, lacks onnx or onnxruntime, or cannot run the model.
Result<std::vector<NodeResult>> runOnnxRuntime(const std::string &python,
                                               const std::string &folder,
                                               const plan::Program &program,
                                               const Batch &batch);

} // namespace dlc::tool
