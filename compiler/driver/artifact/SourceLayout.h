// SPDX-License-Identifier: Apache-2.0
// Names and layouts of a source model's tensors, passed from compilation to
// export in layout.json.
#pragma once

#include "compiler/export/Export.h"
#include "compiler/import/file/Replaced.h"
#include <deque>

namespace dlc {

/// The text of layout.json, which does not include the uses.
std::string layoutJson(const std::vector<import::Replaced> &layout);

/// Code::Corrupt if the text is malformed.
Result<std::vector<import::Replaced>> parseLayout(std::string_view json);

/// Adds each initializer of `layout` to `tensors`, from the tensors that are
/// there; data is stored in `buffers`. Code::Corrupt if a part is missing or
/// does not match.
Status addSourceTensors(const std::vector<import::Replaced> &layout,
                        exporter::Tensors &tensors,
                        std::deque<std::string> &buffers);

} // namespace dlc
