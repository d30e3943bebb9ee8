// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/tables/ColumnList.h"

#include "runtime/base/Text.h"
#include "runtime/base/options/Nearest.h"

#include <algorithm>

namespace dlc {
namespace {

std::vector<std::string> partsOf(const std::string &text, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0;;) {
    const size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end - at));
    if (end == text.npos)
      return parts;
    at = end + 1;
  }
}

Result<size_t> findColumn(const std::string &name,
                          const std::vector<std::string> &names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    return failed("no column '{}'{}", printable(name), suggestion(name, names));
  return size_t(found - names.begin());
}

} // namespace

Result<std::vector<ColumnList>> parseColumnLists(const std::string &text) {
  std::vector<ColumnList> lists;
  if (text.empty())
    return lists;
  for (const std::string &part : partsOf(text, ';')) {
    const size_t colon = part.find(':');
    ColumnList list{part.substr(0, colon), {}};
    if (colon != part.npos)
      list.columns = partsOf(part.substr(colon + 1), ',');
    if (list.array.empty() || list.columns.empty() ||
        std::count(list.columns.begin(), list.columns.end(), ""))
      return usageError("expected arrays and their columns, as in "
                        "x:a,b,c;y:label, found '{}'",
                        printable(part));
    for (const ColumnList &other : lists)
      if (other.array == list.array)
        return usageError("array '{}' is there twice", printable(list.array));
    lists.push_back(std::move(list));
  }
  return lists;
}

Result<std::vector<size_t>> findColumns(const ColumnList &list,
                                        const std::vector<std::string> &names) {
  std::vector<size_t> found;
  std::vector<bool> taken(names.size());
  for (const std::string &word : list.columns) {
    const size_t dots = word.find("..");
    const bool isRange =
        dots != word.npos &&
        std::find(names.begin(), names.end(), word) == names.end();
    DLC_ASSIGN(const size_t first,
               findColumn(isRange ? word.substr(0, dots) : word, names));
    DLC_ASSIGN(const size_t last,
               findColumn(isRange ? word.substr(dots + 2) : word, names));
    if (first > last)
      return failed("column '{}' comes behind '{}', expected a range in the "
                    "table's order",
                    printable(names[first]), printable(names[last]));
    for (size_t i = first; i <= last; ++i) {
      if (taken[i])
        return failed("column '{}' is there twice", printable(names[i]));
      taken[i] = true;
      found.push_back(i);
    }
  }
  return found;
}

} // namespace dlc
