// SPDX-License-Identifier: Apache-2.0
// Which columns of a table make which array: --columns.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dlc {

// "x:a,b,c;y:label": an array and its columns.
struct ColumnList {
  std::string array;
  // Names, or ranges "a..z" in the table's order.
  std::vector<std::string> columns;
};

// Code::Usage: no array or no column, an array twice.
Result<std::vector<ColumnList>> parseColumnLists(const std::string &text);

// Which of `names` the columns are; an error for one that is not there, with
// what is near, or that comes twice.
Result<std::vector<size_t>> findColumns(const ColumnList &list,
                                        const std::vector<std::string> &names);

} // namespace dlc
