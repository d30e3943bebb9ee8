// ONNX element types and the subset that a dlc program can hold.
#pragma once
#include "runtime/base/numbers/DType.h"
#include <optional>
#include <string>

namespace dlc::import {

/// The type for onnx::TensorProto::DataType `onnxType`; nullopt when dlc
/// has no such type (strings, complex, 4-bit, 8-bit float, unsigned > 8 bit).
std::optional<DType> toDType(int onnxType);
/// The inverse of toDType.
int toOnnxType(DType type);
/// "FLOAT", "INT4", ... or "type 99" for a number that ONNX does not define.
std::string onnxTypeName(int onnxType);

} // namespace dlc::import
