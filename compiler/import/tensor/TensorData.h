// SPDX-License-Identifier: Apache-2.0
// A TensorProto's shape, type and payload, checked.
#pragma once
#include "compiler/import/tensor/ExternalData.h"
#include "compiler/import/tensor/ShapeMath.h"
#include "compiler/import/tensor/WeightStore.h"

namespace dlc::import {

/// Checks `tensor` and adds its data to `store` as `name`, by reference where
/// its layout allows. Exactly one data field must be set and hold exactly the
/// elements of the shape. `tensor` must outlive the store.
Status addTensor(const onnx::TensorProto &tensor, const std::string &name,
                 ExternalData &external, WeightStore &store);

} // namespace dlc::import
