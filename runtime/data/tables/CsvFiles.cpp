#include "runtime/data/tables/CsvFiles.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace dlc {
namespace {

std::vector<std::string> namesOf(const CsvRecord &header) {
  std::vector<std::string> names;
  for (size_t i = 0; i < header.fields(); ++i)
    names.push_back(header.text(i));
  return names;
}

Status checkNames(const std::vector<std::string> &names) {
  DLC_TRY(checkColumnNames(names));
  if (names.size() == 1 && names[0].find(';') != std::string::npos)
    return failed("its header has semicolons, expected commas between fields "
                  "(or tabs in a .tsv)");
  return {};
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
  table->separator_ = name.find(".tsv") != name.npos ? '\t' : ',';
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
