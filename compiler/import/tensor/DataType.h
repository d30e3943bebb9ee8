// SPDX-License-Identifier: Apache-2.0
// ONNX element types and the subset that dlc programs can store.
#pragma once
#include "runtime/base/numbers/DType.h"
#include <optional>
#include <string>

namespace dlc::import {

/// The type that stores values of onnx::TensorProto::DataType `onnxType`: the
/// same, or a wider one (isNarrow); nullopt if there is none (strings,
/// complex).
std::optional<DType> toDType(int onnxType);
/// Values are stored in a wider type: integers of 2, 4, 16 bits, INT8, UINT32
/// and UINT64 (to 2^63 - 1), floats of 4 and 8 bits.
bool isNarrow(int onnxType);
/// The ONNX type equal to `type`.
int toOnnxType(DType type);
/// "FLOAT", "INT4", ... or "type 99" for undefined types.
std::string onnxTypeName(int onnxType);

} // namespace dlc::import
