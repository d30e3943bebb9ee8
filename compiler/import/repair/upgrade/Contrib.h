// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that exporters and optimizers write, as ai.onnx
// has them.
#pragma once
#include "compiler/import/repair/upgrade/Upgrading.h"
#include <map>
#include <string>

namespace dlc::import {

/// By operatorName.
const std::map<std::string, Rule> &contribRules();

} // namespace dlc::import
