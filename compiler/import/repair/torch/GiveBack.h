// SPDX-License-Identifier: Apache-2.0
// Restores names and layouts of the file in place of the source module's.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// Makes nodes of `file` read the file's own initializers again if these can be
/// computed from tensors of the program; others, such as parts of merged
/// tensors, stay as restoreParameters left them. Returns those initializers,
/// which the file's weights do not include. Linear in the size of the graph;
/// invalidates the file's `nodes`.
std::vector<Replaced> giveBack(OnnxFile &file);

} // namespace dlc::import
