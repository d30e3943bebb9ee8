// SPDX-License-Identifier: Apache-2.0
// Rules that replace operators of com.microsoft, which exporters and optimizers
// write, by ai.onnx's.
#pragma once
#include "compiler/import/repair/upgrade/Upgrading.h"
#include <map>
#include <string>

namespace dlc::import {

/// All rules by operatorName.
const std::map<std::string, Rule> &contribRules();

} // namespace dlc::import
