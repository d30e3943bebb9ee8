// SPDX-License-Identifier: Apache-2.0
// Checks a TensorProto's shape, type and payload.
#pragma once
#include "compiler/import/tensor/ExternalData.h"
#include "compiler/import/tensor/ShapeMath.h"
#include "compiler/import/tensor/WeightStore.h"

namespace dlc::import {

/// Checks `tensor` and adds it to `store` as `name`, without copying if its
/// layout allows. Exactly one data field must be set and contain exactly the
/// shape's elements. `tensor` must outlive the store.
Status addTensor(const onnx::TensorProto &tensor, const std::string &name,
                 ExternalData &external, WeightStore &store);

} // namespace dlc::import
