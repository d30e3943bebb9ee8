// A TensorProto's shape, type and payload, checked.
#pragma once
#include "compiler/import/ExternalData.h"
#include "compiler/import/WeightStore.h"

namespace dlc::import {

/// Rank above which a tensor is refused.
constexpr int kMaxRank = 8;

/// The number of elements of `dims`; an error (naming `what`) for a negative
/// dimension, a rank above kMaxRank or a product that passes 2^40.
Result<int64_t> countElements(const std::vector<int64_t> &dims,
                              const std::string &what);

/// Checks `tensor` and adds its data to `store` as `name`, by reference where
/// its layout allows. Exactly one data field must be set and hold exactly the
/// elements of the shape. `tensor` must outlive the store.
Status addTensor(const onnx::TensorProto &tensor, const std::string &name,
                 ExternalData &external, WeightStore &store);

} // namespace dlc::import
