// SPDX-License-Identifier: Apache-2.0
// ONNX element types and the subset that a dlc program can hold.
#pragma once
#include "runtime/base/numbers/DType.h"
#include <optional>
#include <string>

namespace dlc::import {

/// The type that holds values of onnx::TensorProto::DataType `onnxType`:
/// itself, or a wider one (isNarrow); nullopt where none does (strings,
/// complex).
std::optional<DType> toDType(int onnxType);
/// Values are held in a wider type: integers of 2, 4, 16 bits, INT8, UINT32 and
/// UINT64 (to 2^63 - 1), floats of 4 and 8 bits.
bool isNarrow(int onnxType);
/// The type of which `type` is the own.
int toOnnxType(DType type);
/// "FLOAT", "INT4", ... or "type 99" for a number that ONNX does not define.
std::string onnxTypeName(int onnxType);

} // namespace dlc::import
