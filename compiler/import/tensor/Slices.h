// SPDX-License-Identifier: Apache-2.0
// Slices of tensors along an axis.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include <string>

namespace dlc::import {

/// All slices along `axis` are equal.
bool repeatsAlong(const Weight &weight, size_t axis);
/// The elements at index 0 of `axis`, copied to `bytes`.
Weight firstAlong(const Weight &weight, size_t axis, std::string &bytes);

} // namespace dlc::import
