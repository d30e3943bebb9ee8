// SPDX-License-Identifier: Apache-2.0
// Names of parameters by their values.
#pragma once
#include "runtime/base/Status.h"
#include <string>

namespace dlc::import {

struct Restoring;

/// Gives the tensors of a model the names and the layouts that a .safetensors
/// file has for their values, also transposed ones. Where several names, or
/// several tensors, have the same values, one name for all or one tensor for
/// all is a tie; else they are left alone. What was done is a remark of the
/// file. Code::BadModel if no tensor is found, Code::Corrupt for a damaged
/// file, Code::Usage for one of another kind.
Status nameByValue(Restoring &work, const std::string &path);

} // namespace dlc::import
