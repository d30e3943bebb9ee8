// SPDX-License-Identifier: Apache-2.0
// Names and layouts of the file, in place of the source module's.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// Makes the nodes of `file` read the file's own initializers again, where they
/// can be made of tensors that the program has; others, such as parts of what
/// an exporter merged, stay as restoreParameters left them. Returns the
/// initializers that are back; the file's weights do not have them. Linear in
/// the size of the graph; its `nodes` are stale behind it.
std::vector<Replaced> giveBack(OnnxFile &file);

} // namespace dlc::import
