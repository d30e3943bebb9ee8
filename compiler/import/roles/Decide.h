// SPDX-License-Identifier: Apache-2.0
// Decides which tensors are trained.
#pragma once
#include "compiler/import/roles/Roles.h"

namespace dlc::import {

/// Calls findRoles and findPaddings, and sets the tensors of a new head
/// (`head`) to trained. Uncertain roles become decisions of the file; a report
/// of all decisions becomes its remarks.
Result<std::map<std::string, Found>>
decideRoles(OnnxFile &file, const RoleOverrides &overrides,
            const std::vector<std::string> &paddings,
            const std::vector<std::string> &head);

} // namespace dlc::import
