// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/parquet/ClassNames.h"

#include "runtime/base/Json.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace dlc {

// {"info": {"features": {"label": {"names": [...], "_type": "ClassLabel"}}}};
// none where it is anything else.
static std::vector<std::string> namesIn(const ParquetFile &file,
                                        const std::string &column) {
  if (file.features.empty())
    return {};
  const auto json = parseJson(file.features);
  if (!json)
    return {};
  const Json *at = &*json;
  for (const std::string &key :
       {std::string("info"), std::string("features"), column}) {
    if (!at->is_object() || !at->contains(key))
      return {};
    at = &(*at)[key];
  }
  if (!at->is_object() || at->value("_type", Json()) != Json("ClassLabel"))
    return {};
  std::vector<std::string> names;
  const Json list = at->value("names", Json());
  if (!list.is_array())
    return {};
  for (const Json &name : list) {
    if (!name.is_string())
      return {};
    names.push_back(name.get<std::string>());
  }
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return {}; // they name nothing
  return names;
}

Result<std::vector<std::string>>
classNamesOf(std::span<const ParquetFile> files, const std::string &column) {
  std::vector<std::string> names;
  const ParquetFile *first = nullptr;
  for (const ParquetFile &file : files) {
    auto own = namesIn(file, column);
    if (own.empty())
      continue;
    if (first && own != names)
      return failed("'{}': the classes of column '{}' have other names than in "
                    "'{}'",
                    file.file.path(), printable(column), first->file.path());
    first = &file;
    names = std::move(own);
  }
  return names;
}

} // namespace dlc
