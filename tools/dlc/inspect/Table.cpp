// SPDX-License-Identifier: Apache-2.0
// What is in the columns of a table.
#include "tools/dlc/inspect/DataReport.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Mapping.h"
#include "runtime/data/parquet/ColumnRows.h"
#include "runtime/data/parquet/ParquetPictures.h"
#include "runtime/data/tables/CsvFiles.h"
#include "runtime/data/tables/TableSource.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace dlc::tool {
namespace {

constexpr size_t kMostNames = 1000; // kept
constexpr size_t kNamesShown = 20;

struct ColumnSurvey {
  int64_t missing = 0, numbers = 0, texts = 0, infinite = 0;
  bool isWhole = true, isCut = false; // cut: more names than are kept
  double least = 0, most = 0;
  std::map<std::string, int64_t> names;
  std::string what; // besides: "lists of 8", "dates"

  void add(const CsvRecord &record, size_t column) {
    const CsvValue value = csvValue(record.raw(column));
    if (value.kind == CsvKind::Missing)
      ++missing;
    else if (value.kind == CsvKind::NotFinite)
      ++infinite;
    else if (value.kind == CsvKind::Text)
      addText(record.text(column));
    else
      addNumber(value.number, value.kind == CsvKind::Whole);
  }
  void add(const ParquetColumn &column, const ColumnPage &page) {
    for (const int64_t whole : page.values.whole)
      addNumber(double(whole), true);
    for (const double number : page.values.numbers)
      if (std::isnan(number))
        ++missing;
      else if (std::isinf(number))
        ++infinite;
      else
        addNumber(number, false);
    for (const std::string_view text : page.values.texts)
      addText(std::string(text));
    missing += int64_t(page.entries) -
               (page.definition.empty()
                    ? int64_t(page.entries)
                    : std::count(page.definition.begin(), page.definition.end(),
                                 column.mostDefinition));
  }

  void addText(const std::string &name) {
    ++texts;
    if (names.size() < kMostNames || names.count(name))
      ++names[name];
    else
      isCut = true;
  }
  void addNumber(double number, bool whole) {
    isWhole &= whole;
    least = numbers ? std::min(least, number) : number;
    most = numbers ? std::max(most, number) : number;
    ++numbers;
  }

  std::string text() const {
    std::string text;
    const auto add = [&](const std::string &part) {
      text += (text.empty() ? "" : "; ") + part;
    };
    if (!what.empty())
      add(what);
    if (numbers)
      add(fmt::format("{}, {} to {}", isWhole ? "whole numbers" : "numbers",
                      least, most));
    if (texts)
      add(namesText());
    if (infinite)
      add(fmt::format("{} not finite", infinite));
    if (missing)
      add(fmt::format("{} missing", missing));
    return text.empty() ? "nothing" : text;
  }

  OrderedJson json() const {
    OrderedJson json = {{"numbers", numbers},
                        {"texts", texts},
                        {"not_finite", infinite},
                        {"missing", missing}};
    if (!what.empty())
      json["kind"] = what;
    if (numbers)
      json["least"] = least, json["most"] = most, json["whole"] = isWhole;
    if (texts && !isCut)
      json["names"] = names;
    return json;
  }

private:
  // "3 names: ann 2, bob 1, eve 1"
  std::string namesText() const {
    if (isCut)
      return fmt::format("more than {} names", kMostNames);
    std::string text = fmt::format("{} {}", names.size(),
                                   names.size() == 1 ? "name" : "names");
    if (names.size() > kNamesShown)
      return text;
    for (const char *before = ": "; const auto &[name, count] : names) {
      text += fmt::format("{}{} {}", before, printable(name, 40), count);
      before = ", ";
    }
    return text;
  }
};

// Columns of `rows` rows in `files` files.
void reportColumns(const TableFiles &table,
                   const std::vector<ColumnSurvey> &columns, int64_t rows,
                   DataReport &report) {
  const size_t files = table.paths().size();
  report.json["files"] = files, report.json["samples"] = rows;
  report.line("  {} rows in {} {}", rows, files, files == 1 ? "file" : "files");
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string &name = table.columns()[i];
    report.json["columns"][name.empty() ? fmt::format("column {}", i + 1)
                                        : name] = columns[i].json();
    report.line("  {}: {}",
                name.empty() ? fmt::format("(column {})", i + 1)
                             : printable(name),
                columns[i].text());
  }
}

Status reportCsv(const CsvFiles &files, BadSamples bad, DataReport &report) {
  DLC_ASSIGN(const CsvPlaces rows, scanRows(files, {}, {}, bad));
  std::vector<ColumnSurvey> columns(files.columns().size());
  CsvRecord record = files.record();
  int64_t count = 0;
  for (size_t file = 0; file < rows.places.size(); ++file)
    for (const uint64_t at : rows.places[file]) {
      const Status split =
          record.split(files.files()[file].file.text().substr(at)).status();
      if (!split.ok())
        return split.withContext(files.placeOf(file, at));
      for (size_t i = 0; i < std::min(columns.size(), record.fields()); ++i)
        columns[i].add(record, i);
      ++count;
    }
  DLC_TRY(mappedFilesStatus());
  report.json["separator"] = std::string(1, files.separator());
  if (files.separator() != ',')
    report.line("  {} between fields",
                files.separator() == ';' ? "semicolons" : "tabs");
  reportColumns(files, columns, count, report);
  return {};
}

Status surveyParquet(const ParquetFile &file, size_t column,
                     ColumnSurvey &survey) {
  const ParquetColumn &of = file.columns[column];
  if (of.kind == ParquetKind::Other) {
    survey.what = of.what;
    return {};
  }
  if (of.mostRepetition > 0) {
    DLC_ASSIGN(const auto shape, shapeOfRows(file, column));
    survey.what = fmt::format("lists of {}", fmt::join(shape, " x "));
  }
  for (size_t group = 0; group < file.groups.size(); ++group) {
    PageReader pages(file, column, group);
    ColumnPage page;
    for (bool more = true; more;) {
      DLC_ASSIGN(more, pages.next(page));
      if (more)
        survey.add(of, page);
    }
  }
  return {};
}

Status reportParquet(const ParquetTable &table, DataReport &report) {
  std::vector<ColumnSurvey> columns(table.columns().size());
  uint64_t rows = 0;
  for (const ParquetFile &file : table.files()) {
    rows += file.rows;
    for (size_t i = 0; i < columns.size(); ++i)
      DLC_TRY(surveyParquet(file, i, columns[i]));
  }
  DLC_TRY(mappedFilesStatus());
  reportColumns(table, columns, int64_t(rows), report);
  return {};
}

} // namespace

Result<std::shared_ptr<const Pictures>>
picturesOfTable(const std::string &path) {
  DLC_ASSIGN(const auto paths, filesOfTable(path));
  DLC_ASSIGN(const bool isParquet, areParquet(paths));
  if (!isParquet)
    return std::shared_ptr<const Pictures>();
  DLC_ASSIGN(auto table, ParquetTable::open(path, paths, 0));
  return openParquetPictures(std::move(table), {}, kHeldTable);
}

Status reportTable(const std::string &path, BadSamples bad,
                   DataReport &report) {
  DLC_ASSIGN(const auto paths, filesOfTable(path));
  DLC_ASSIGN(const bool isParquet, areParquet(paths));
  if (isParquet) {
    DLC_ASSIGN(const auto table, ParquetTable::open(path, paths, 0));
    return reportParquet(*table, report);
  }
  DLC_ASSIGN(const auto files, CsvFiles::open(path, paths));
  return reportCsv(*files, bad, report);
}

} // namespace dlc::tool
