// SPDX-License-Identifier: Apache-2.0
// The numbers of float tensors of any width, as f32.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include <string>
#include <vector>

namespace dlc::import {

std::vector<float> floatsOf(const Weight &weight);
/// Of a tensor's data.
std::vector<float> floatsOf(const std::string &bytes, DType dtype);
/// Rounded to `dtype`.
std::string bytesOf(const std::vector<float> &values, DType dtype);

} // namespace dlc::import
