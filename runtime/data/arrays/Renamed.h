// SPDX-License-Identifier: Apache-2.0
// --columns: which column of a table, or array of a file, is which input.
#pragma once

#include "runtime/data/Source.h"

namespace dlc {

// "x=images,y=labels" as dlc-data and renamed() read it: "x:images;y:labels".
std::string columnsText(const std::string &text);

// A source of arrays under the names that `columns` gives them. An array that
// it does not name, or that is not there, has its own.
std::shared_ptr<const Source> renamed(std::shared_ptr<const Source> source,
                                      const std::string &columns);

} // namespace dlc
