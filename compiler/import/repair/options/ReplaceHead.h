// SPDX-License-Identifier: Apache-2.0
// --replace-head: a new last layer with another number of classes.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// Gives the Gemm or MatMul that computes the first output (followed by bias,
/// softmax, reshapes and casts, or the loss) `classes` columns: replaces its
/// weight and bias by zeros and changes the declared shape of the output.
/// Returns the names of the new tensors, weight first. Code::BadModel, naming
/// the node found, if there is no such layer.
Result<std::vector<std::string>> replaceHead(OnnxFile &file, int64_t classes);

} // namespace dlc::import
