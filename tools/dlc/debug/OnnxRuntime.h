// SPDX-License-Identifier: Apache-2.0
// Runs onnxruntime in a Python process, for `dlc debug compare`.
#pragma once

#include "runtime/train/compare/NodeResults.h"

#include <string>

namespace dlc::tool {

// All node results of model.onnx in `folder`, which may be modified, for a
// batch: on the CPU, without onnxruntime's optimizations, in inference form.
// Starts a process of `python` per call. Code::Failed, with its output, if it
// does not start, lacks onnx or onnxruntime, or cannot run the model.
Result<std::vector<NodeResult>> runOnnxRuntime(const std::string &python,
                                               const std::string &folder,
                                               const plan::Program &program,
                                               const Batch &batch);

} // namespace dlc::tool
