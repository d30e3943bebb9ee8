// SPDX-License-Identifier: Apache-2.0
// Converts float tensors of any width to and from f32.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include <string>
#include <vector>

namespace dlc::import {

std::vector<float> floatsOf(const Weight &weight);
/// The elements of a tensor of type `dtype`.
std::vector<float> floatsOf(const std::string &bytes, DType dtype);
/// Rounds to `dtype`.
std::string bytesOf(const std::vector<float> &values, DType dtype);

} // namespace dlc::import
