// SPDX-License-Identifier: Apache-2.0
// --dropout: which nodes drop out in training, for a file in inference form.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// Code::Usage unless it is "exported", "true", a ratio, or REGEX:RATIO.
Status checkDropout(const std::string &rule);

/// Fills file.dropouts. "exported" and "true" enable each Dropout node with its
/// own ratio, a number enables all of them with this ratio. REGEX:RATIO applies
/// to nodes with matching names; dropout is added after those that are not
/// Dropout nodes. The first matching rule is used. Code::Usage for a rule
/// without matches. Returns a message about Dropout nodes that stay inactive,
/// or "".
Result<std::string> findDropouts(OnnxFile &file,
                                 const std::vector<std::string> &rules);

} // namespace dlc::import
