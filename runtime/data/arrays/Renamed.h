// SPDX-License-Identifier: Apache-2.0
// --columns: maps table columns, or arrays of a file, to inputs.
#pragma once

#include "runtime/data/Source.h"

namespace dlc {

// Converts "x=images,y=labels" to the syntax of dlc-data and renamed():
// "x:images;y:labels".
std::string columnsText(const std::string &text);

// A source whose arrays have the names given by `columns`; other arrays keep
// their names.
std::shared_ptr<const Source> renamed(std::shared_ptr<const Source> source,
                                      const std::string &columns);

} // namespace dlc
