// What is in the columns of a table.
#include "tools/dlc/inspect/DataReport.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Mapping.h"
#include "runtime/data/tables/CsvFiles.h"

#include <algorithm>
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

  void add(const CsvRecord &record, size_t column) {
    const CsvValue value = csvValue(record.raw(column));
    if (value.kind == CsvKind::Missing) {
      ++missing;
    } else if (value.kind == CsvKind::NotFinite) {
      ++infinite;
    } else if (value.kind == CsvKind::Text) {
      ++texts;
      const std::string name = record.text(column);
      if (names.size() < kMostNames || names.count(name))
        ++names[name];
      else
        isCut = true;
    } else {
      isWhole &= value.kind == CsvKind::Whole;
      least = numbers ? std::min(least, value.number) : value.number;
      most = numbers ? std::max(most, value.number) : value.number;
      ++numbers;
    }
  }

  std::string text() const {
    std::string text;
    const auto add = [&](const std::string &part) {
      text += (text.empty() ? "" : "; ") + part;
    };
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

} // namespace

Status reportTable(const std::string &path, BadSamples bad,
                   DataReport &report) {
  DLC_ASSIGN(const auto files, CsvFiles::open(path));
  DLC_ASSIGN(const CsvRows rows, scanRows(*files, {}, {}, bad));
  std::vector<ColumnSurvey> columns(files->columns().size());
  CsvRecord record = files->record();
  int64_t count = 0;
  for (size_t file = 0; file < rows.places.size(); ++file)
    for (const uint64_t at : rows.places[file]) {
      const Status split =
          record.split(files->files()[file].file.text().substr(at)).status();
      if (!split.ok())
        return split.withContext(files->placeOf(file, at));
      for (size_t i = 0; i < std::min(columns.size(), record.fields()); ++i)
        columns[i].add(record, i);
      ++count;
    }
  DLC_TRY(mappedFilesStatus());
  report.json["files"] = rows.places.size(), report.json["samples"] = count;
  report.line("  {} rows in {} {}", count, rows.places.size(),
              rows.places.size() == 1 ? "file" : "files");
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string &name = files->columns()[i];
    report.json["columns"][name.empty() ? fmt::format("column {}", i + 1)
                                        : name] = columns[i].json();
    report.line("  {}: {}",
                name.empty() ? fmt::format("(column {})", i + 1)
                             : printable(name),
                columns[i].text());
  }
  return {};
}

} // namespace dlc::tool
