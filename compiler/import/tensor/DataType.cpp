// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/tensor/DataType.h"
#include "onnx-ml.pb.h"
#include <algorithm>

namespace dlc::import {

namespace {

using Type = onnx::TensorProto;

struct Held {
  int onnxType;
  DType dtype;
  bool isNarrow = false; // narrower, or unsigned
};

constexpr Held kHeld[] = {
    {Type::FLOAT, DType::F32},
    {Type::FLOAT16, DType::F16},
    {Type::BFLOAT16, DType::BF16},
    {Type::DOUBLE, DType::F64},
    {Type::INT64, DType::I64},
    {Type::INT32, DType::I32},
    {Type::UINT8, DType::U8},
    {Type::BOOL, DType::Bool},
    {Type::INT2, DType::I32, true},
    {Type::UINT2, DType::I32, true},
    {Type::INT4, DType::I32, true},
    {Type::UINT4, DType::I32, true},
    {Type::INT8, DType::I32, true},
    {Type::INT16, DType::I32, true},
    {Type::UINT16, DType::I32, true},
    {Type::UINT32, DType::I64, true},
    {Type::UINT64, DType::I64, true},
    {Type::FLOAT8E4M3FN, DType::F32, true},
    {Type::FLOAT8E4M3FNUZ, DType::F32, true},
    {Type::FLOAT8E5M2, DType::F32, true},
    {Type::FLOAT8E5M2FNUZ, DType::F32, true},
    {Type::FLOAT8E8M0, DType::F32, true},
    {Type::FLOAT4E2M1, DType::F32, true},
};

const Held *heldAs(int onnxType) {
  const auto *found = std::ranges::find(kHeld, onnxType, &Held::onnxType);
  return found == std::end(kHeld) ? nullptr : found;
}

} // namespace

bool isNarrow(int onnxType) {
  const Held *held = heldAs(onnxType);
  return held && held->isNarrow;
}

std::optional<DType> toDType(int onnxType) {
  const Held *held = heldAs(onnxType);
  return held ? std::optional(held->dtype) : std::nullopt;
}

int toOnnxType(DType type) { // the first is not narrow
  return std::ranges::find(kHeld, type, &Held::dtype)->onnxType;
}

std::string onnxTypeName(int onnxType) {
  if (onnx::TensorProto::DataType_IsValid(onnxType))
    return onnx::TensorProto::DataType_Name(
        static_cast<onnx::TensorProto::DataType>(onnxType));
  return "type " + std::to_string(onnxType);
}

} // namespace dlc::import
