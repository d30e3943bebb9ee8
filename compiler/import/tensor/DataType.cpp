// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"

namespace dlc::import {

bool isNarrow(int onnxType) {
  auto held = toDType(onnxType);
  return held && toOnnxType(*held) != onnxType;
}

std::optional<DType> toDType(int onnxType) {
  switch (onnxType) {
  case onnx::TensorProto::INT2:
  case onnx::TensorProto::UINT2:
  case onnx::TensorProto::INT4:
  case onnx::TensorProto::UINT4:
  case onnx::TensorProto::INT8:
  case onnx::TensorProto::INT16:
  case onnx::TensorProto::UINT16:
    return DType::I32;
  case onnx::TensorProto::UINT32:
  case onnx::TensorProto::UINT64:
    return DType::I64;
  case onnx::TensorProto::FLOAT8E4M3FN:
  case onnx::TensorProto::FLOAT8E4M3FNUZ:
  case onnx::TensorProto::FLOAT8E5M2:
  case onnx::TensorProto::FLOAT8E5M2FNUZ:
  case onnx::TensorProto::FLOAT8E8M0:
  case onnx::TensorProto::FLOAT4E2M1:
    return DType::F32;
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
  switch (type) {
  case DType::F32:
    return onnx::TensorProto::FLOAT;
  case DType::F16:
    return onnx::TensorProto::FLOAT16;
  case DType::BF16:
    return onnx::TensorProto::BFLOAT16;
  case DType::F64:
    return onnx::TensorProto::DOUBLE;
  case DType::I64:
    return onnx::TensorProto::INT64;
  case DType::I32:
    return onnx::TensorProto::INT32;
  case DType::U8:
    return onnx::TensorProto::UINT8;
  case DType::Bool:
    return onnx::TensorProto::BOOL;
  }
  return onnx::TensorProto::UNDEFINED;
}

std::string onnxTypeName(int onnxType) {
  if (onnx::TensorProto::DataType_IsValid(onnxType))
    return onnx::TensorProto::DataType_Name(
        static_cast<onnx::TensorProto::DataType>(onnxType));
  return "type " + std::to_string(onnxType);
}

} // namespace dlc::import
