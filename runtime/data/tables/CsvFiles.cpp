// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/tables/CsvFiles.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <charconv>

namespace dlc {
namespace {

std::vector<std::string> namesOf(const CsvRecord &header) {
  std::vector<std::string> names;
  for (size_t i = 0; i < header.fields(); ++i)
    names.push_back(header.text(i));
  return names;
}

// A first line of samples, rather than of names: all are numbers, and not
// 0, 1, 2, ..., which are columns of a table without names.
bool areSamples(const std::vector<std::string> &names) {
  size_t counted = 0;
  for (const std::string &name : names) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(name.data(), name.data() + name.size(), value);
    if (error != std::errc() || end != name.data() + name.size())
      return false;
    counted += value == double(counted);
  }
  return counted < names.size();
}

Status checkNames(const std::vector<std::string> &names) {
  if (areSamples(names))
    return failed("its first line has only numbers ('{}', ...), expected the "
                  "names of columns: write such a line above it",
                  printable(names[0]));
  DLC_TRY(checkColumnNames(names));
  if (names[0].starts_with("sep="))
    return failed("begins with Excel's line 'sep=': remove it");
  return {};
}

// The first that a header has between fields; else commas.
char separatorOf(std::string_view text) {
  for (const char separator : {',', ';', '\t'}) {
    CsvRecord header(separator);
    if (header.split(text).ok() && header.fields() > 1)
      return separator;
  }
  return ',';
}

bool hasEnding(std::string_view path, std::string_view ending) {
  return path.ends_with(ending);
}

} // namespace

Result<CsvFiles::CsvFile> CsvFiles::openOne(const std::string &path) {
  if (hasEnding(path, ".gz"))
    return failed("is compressed: unpack it, as rows are read in any order");
  CsvFile one;
  DLC_ASSIGN(one.file, MappedFile::open(path));
  const std::string_view text = one.file.text();
  if (text.substr(0, 4096).find('\0') != text.npos)
    return failed("is no text in UTF-8: save it as such");
  if (text.starts_with("\xef\xbb\xbf"))
    one.begin = 3;
  if (one.begin >= text.size())
    return failed("has no header: expected the names of columns in its first "
                  "line");
  if (text.find('\n') == text.npos && text.find('\r') != text.npos)
    return failed("its lines end in carriage returns alone: end them in line "
                  "feeds, as in tr '\\r' '\\n'");
  if (!separator_)
    separator_ = separatorOf(text.substr(one.begin));
  CsvRecord header = record();
  auto taken = header.split(text.substr(one.begin));
  if (!taken)
    return taken.status().withContext("its header");
  one.begin += *taken;
  std::vector<std::string> names = namesOf(header);
  for (const std::string &column : names)
    if (!isUtf8(column))
      return failed("its header is no UTF-8: save it as such");
  DLC_TRY(checkNames(names));
  if (files_.empty())
    columns_ = std::move(names);
  else if (names != columns_)
    return failed("its header is another than that of '{}'",
                  files_[0].file.path());
  return one;
}

Result<std::shared_ptr<const CsvFiles>>
CsvFiles::open(const std::string &name, const std::vector<std::string> &paths) {
  auto table = std::make_shared<CsvFiles>();
  table->name_ = name;
  table->separator_ = name.find(".tsv") != name.npos ? '\t' : '\0';
  for (const std::string &one : paths) {
    auto file = table->openOne(one);
    if (!file)
      return file.status().message().find(one) != std::string::npos
                 ? file.status()
                 : file.status().withContext(fmt::format("'{}'", one));
    table->files_.push_back(*std::move(file));
  }
  return table;
}

std::vector<std::string> CsvFiles::paths() const {
  std::vector<std::string> paths;
  for (const CsvFile &file : files_)
    paths.push_back(file.file.path());
  return paths;
}

std::string CsvFiles::placeOf(size_t file, size_t offset) const {
  const MappedFile &mapped = files_[file].file;
  const std::string_view before = mapped.text().substr(0, offset);
  return fmt::format("'{}', line {}", mapped.path(),
                     1 + std::count(before.begin(), before.end(), '\n'));
}

} // namespace dlc
