#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"

namespace dlc::import {

std::optional<DType> toDType(int onnxType) {
  switch (onnxType) {
  case onnx::TensorProto::FLOAT:
    return DType::F32;
  case onnx::TensorProto::FLOAT16:
    return DType::F16;
  case onnx::TensorProto::BFLOAT16:
    return DType::BF16;
  case onnx::TensorProto::DOUBLE:
    return DType::F64;
  case onnx::TensorProto::INT64:
    return DType::I64;
  case onnx::TensorProto::INT32:
    return DType::I32;
  case onnx::TensorProto::UINT8:
    return DType::U8;
  case onnx::TensorProto::BOOL:
    return DType::Bool;
  default:
    return std::nullopt;
  }
}

int toOnnxType(DType type) {
  for (int candidate = 1; candidate <= onnx::TensorProto::BFLOAT16; ++candidate)
    if (toDType(candidate) == type)
      return candidate;
  return onnx::TensorProto::UNDEFINED;
}

std::string onnxTypeName(int onnxType) {
  if (onnx::TensorProto::DataType_IsValid(onnxType))
    return onnx::TensorProto::DataType_Name(
        static_cast<onnx::TensorProto::DataType>(onnxType));
  return "type " + std::to_string(onnxType);
}

} // namespace dlc::import
