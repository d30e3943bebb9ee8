// SPDX-License-Identifier: Apache-2.0
// What is trained, and what was decided about a file's tensors.
#pragma once
#include "compiler/import/roles/Roles.h"

namespace dlc::import {

/// findRoles, but `head`, the tensors of a new one, is trained in any case;
/// which rows get no gradient (findPaddings). Doubts are decisions of the file,
/// and what was decided in all its remarks.
Result<std::map<std::string, Found>>
decideRoles(OnnxFile &file, const RoleOverrides &overrides,
            const std::vector<std::string> &paddings,
            const std::vector<std::string> &head);

} // namespace dlc::import
