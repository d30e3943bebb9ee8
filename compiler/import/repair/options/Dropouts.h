// SPDX-License-Identifier: Apache-2.0
// --dropout: what drops out in training of a file in inference form.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// Code::Usage unless it is "exported", "true", a ratio, or REGEX:RATIO.
Status checkDropout(const std::string &rule);

/// Fills file.dropouts. "exported" and "true" train each Dropout node with its
/// own ratio, a number all of them with that; REGEX:RATIO is for nodes whose
/// names match, behind whose results it puts one if they are none. The first
/// rule that fits a node counts. Code::Usage for a rule that fits none.
/// Returns what to say of Dropout nodes that do nothing, "" if there are none.
Result<std::string> findDropouts(OnnxFile &file,
                                 const std::vector<std::string> &rules);

} // namespace dlc::import
