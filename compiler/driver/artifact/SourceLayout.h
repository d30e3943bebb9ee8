// SPDX-License-Identifier: Apache-2.0
// Names and layouts of a source model's tensors between compilation and export:
// layout.json.
#pragma once

#include "compiler/export/Export.h"
#include "compiler/import/file/Replaced.h"
#include <deque>

namespace dlc {

/// The text of layout.json, without the uses.
std::string layoutJson(const std::vector<import::Replaced> &layout);

/// Code::Corrupt for what is not such a text.
Result<std::vector<import::Replaced>> parseLayout(std::string_view json);

/// Adds each initializer of `layout` to `tensors`, made of those that are
/// there; their bytes live in `buffers`. Code::Corrupt if a part is missing or
/// does not fit.
Status addSourceTensors(const std::vector<import::Replaced> &layout,
                        exporter::Tensors &tensors,
                        std::deque<std::string> &buffers);

} // namespace dlc
