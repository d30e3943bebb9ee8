// SPDX-License-Identifier: Apache-2.0
// --names: names parameters by their values.
#pragma once
#include "runtime/base/Status.h"
#include <string>

namespace dlc::import {

struct Restoring;

/// Renames and transposes a model's tensors to the names and layouts that a
/// .safetensors file has for the same values. If several names or several
/// tensors have equal values, they are a tie if there is one tensor or one name
/// for all, else they are unchanged. A summary is a remark of the file.
/// Code::BadModel if no tensor is found, Code::Corrupt for a damaged file,
/// Code::Usage for a file of another format.
Status nameByValue(Restoring &work, const std::string &path);

} // namespace dlc::import
