// SPDX-License-Identifier: Apache-2.0
// A new last layer, for other classes.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// Gives the Gemm or MatMul that the first output comes from (through bias,
/// softmax, reshapes and casts, or through the loss) `classes` columns: its
/// weight, its bias and the declared shape of the output change, all else
/// stays. Returns the names of the new tensors, weight first; they hold zeros.
/// Code::BadModel says what stands where the layer was expected.
Result<std::vector<std::string>> replaceHead(OnnxFile &file, int64_t classes);

} // namespace dlc::import
