// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/tables/Table.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "runtime/data/Range.h"

#include <algorithm>

namespace dlc {
namespace {

constexpr std::string_view kParquet = ".parquet";

} // namespace

bool isTable(const std::string &path) {
  constexpr std::string_view kEndings[] = {".csv", ".tsv", ".csv.gz", ".tsv.gz",
                                           kParquet};
  return std::any_of(
      std::begin(kEndings), std::end(kEndings),
      [&](std::string_view ending) { return path.ends_with(ending); });
}

Result<std::vector<std::string>> filesOfTable(const std::string &path) {
  std::vector<std::string> files;
  for (size_t at = 0; at != path.npos;) {
    const size_t end = exists(path) ? path.npos : path.find(',', at);
    DLC_ASSIGN(const auto some, expandRange(path.substr(at, end - at)));
    files.insert(files.end(), some.begin(), some.end());
    at = end == path.npos ? end : end + 1;
  }
  return files;
}

Result<bool> areParquet(const std::vector<std::string> &files) {
  const auto is = [](const std::string &file) {
    return file.ends_with(kParquet);
  };
  const auto other =
      std::find_if(files.begin(), files.end(), [&](const std::string &file) {
        return is(file) != is(files[0]);
      });
  if (other == files.end())
    return is(files[0]);
  return failed("'{}' and '{}' are no table: expected files of one format",
                files[0], *other);
}

Status checkColumnNames(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  for (size_t i = 1; i < names.size(); ++i)
    if (names[i] == names[i - 1] && !names[i].empty())
      return failed("two columns are named '{}'", printable(names[i]));
  return {};
}

Status badRow(const std::string &first) {
  return failed("{}; --bad-samples=skip leaves such rows out", first);
}

void warnOfBadRows(const std::string &table, int64_t bad, int64_t rows,
                   const std::string &first) {
  if (bad)
    warning("'{}': {} of {} rows are left out, the first: {}", table, bad, rows,
            first);
}

} // namespace dlc
