// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Text.h"
#include "runtime/base/files/Mapping.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/tables/CsvFiles.h"

#include <algorithm>
#include <atomic>

namespace dlc {
namespace {

bool hasDecimalComma(std::string_view field) {
  std::string text(field);
  const size_t comma = text.find(',');
  if (comma == text.npos)
    return false;
  text[comma] = '.';
  return csvValue(text).kind == CsvKind::Number;
}

constexpr size_t kScanned = 8 << 20; // bytes that a thread takes at once

// What was found in a column: of numbers and of texts the first one.
struct CsvFacts : ColumnFacts {
  std::optional<std::pair<size_t, size_t>> number, text; // file, byte
};

// What one thread found in a part of a file.
struct CsvPart {
  CsvPart(size_t file, size_t begin, size_t end)
      : file(file), begin(begin), end(end) {}

  size_t file, begin, end; // rows that begin there
  bool inQuotes = false;   // at its begin
  size_t quotes = 0;
  std::vector<uint64_t> rows;
  std::vector<CsvFacts> facts;
  // Of rows that cannot be used: how many, the first one and why.
  int64_t bad = 0;
  size_t badAt = 0;
  Status why;
};

class CsvScan {
public:
  CsvScan(const CsvFiles &files, const std::vector<ColumnUse> &uses,
          const ClassNumbers &classes, BadSamples bad)
      : files_(files), uses_(uses), classes_(classes), bad_(bad) {
    for (size_t file = 0; file < files.files().size(); ++file) {
      const size_t size = files.files()[file].file.size();
      for (size_t at = files.files()[file].begin; at < size; at += kScanned)
        parts_.emplace_back(file, at, std::min(at + kScanned, size));
    }
  }

  Result<CsvPlaces> run() {
    // A line end is in quotes if the quotes before it are odd.
    eachPart([this](CsvPart &part) {
      const std::string_view text = textOf(part);
      part.quotes = size_t(std::count(text.begin() + ptrdiff_t(part.begin),
                                      text.begin() + ptrdiff_t(part.end), '"'));
    });
    for (size_t i = 1; i < parts_.size(); ++i)
      parts_[i].inQuotes = parts_[i].file == parts_[i - 1].file &&
                           parts_[i - 1].inQuotes != (parts_[i - 1].quotes % 2);
    eachPart([this](CsvPart &part) { scan(part); });
    DLC_TRY(mappedFilesStatus());
    return merge();
  }

private:
  template <class Work> void eachPart(const Work &work) {
    std::atomic<size_t> next = 0;
    const auto most = std::max<size_t>(parts_.size(), 1);
    runTogether(std::clamp<size_t>(size_t(coresOfProcess()), 1, most), [&] {
      for (size_t i; (i = next++) < parts_.size();)
        work(parts_[i]);
    });
  }

  std::string_view textOf(const CsvPart &part) const {
    return files_.files()[part.file].file.text();
  }

  // Where the first row of the part begins.
  size_t firstRow(const CsvPart &part) const {
    const std::string_view text = textOf(part);
    if (part.begin == files_.files()[part.file].begin)
      return part.begin;
    if (!part.inQuotes && text[part.begin - 1] == '\n')
      return part.begin;
    bool inQuotes = part.inQuotes;
    for (size_t at = part.begin; at < part.end; ++at) {
      inQuotes ^= text[at] == '"';
      if (!inQuotes && text[at] == '\n')
        return at + 1;
    }
    return part.end;
  }

  void scan(CsvPart &part) const {
    part.facts.resize(uses_.size());
    const std::string_view text = textOf(part);
    CsvRecord record = files_.record();
    for (size_t at = firstRow(part); at < part.end;) {
      const auto size = record.split(text.substr(at));
      const Status status = !size              ? size.status()
                            : record.isBlank() ? Status()
                                               : look(record, at, part);
      if (!status.ok()) {
        if (part.bad++ == 0)
          part.badAt = at, part.why = status;
        if (bad_ == BadSamples::Error)
          return;
      } else if (!record.isBlank()) {
        part.rows.push_back(at);
      }
      // Behind what cannot be split: the next line.
      at = size ? at + *size : std::min(text.find('\n', at), text.size()) + 1;
    }
  }

  // A row's fields, as they are wanted; what is left out adds nothing.
  Status look(const CsvRecord &record, size_t at, CsvPart &part) const {
    if (record.fields() != files_.columns().size())
      return failed("{} fields, expected {} as in the header", record.fields(),
                    files_.columns().size());
    thread_local std::vector<CsvKind> kinds;
    kinds.clear();
    for (const ColumnUse &use : uses_) {
      auto kind = kindOf(record, use);
      if (!kind)
        return kind.status().withContext(fmt::format(
            "column '{}'", printable(files_.columns()[use.column])));
      kinds.push_back(*kind);
    }
    for (size_t i = 0; i < uses_.size(); ++i)
      note(record, uses_[i], kinds[i], std::pair(part.file, at), part.facts[i]);
    return {};
  }

  Result<CsvKind> kindOf(const CsvRecord &record, const ColumnUse &use) const {
    const std::string_view raw = record.raw(use.column);
    if (use.isLabel && !classes_.empty()) {
      const std::string name = record.text(use.column);
      if (!classes_.count(name))
        return failed("'{}' is none of the {} classes", printable(name),
                      classes_.size());
      return CsvKind::Text;
    }
    const CsvKind kind = csvValue(raw).kind;
    if (kind == CsvKind::Missing)
      return failed("no value");
    if (kind == CsvKind::NotFinite)
      return failed("'{}' is not finite", printable(raw));
    if (kind == CsvKind::Text && !use.isLabel)
      return failed(
          "'{}' is no number{}", printable(raw),
          hasDecimalComma(raw) ? ": its decimal comma has to be a point" : "");
    return kind;
  }

  void note(const CsvRecord &record, const ColumnUse &use, CsvKind kind,
            std::pair<size_t, size_t> place, CsvFacts &facts) const {
    auto &first = kind == CsvKind::Text ? facts.text : facts.number;
    if (!first)
      first = place;
    facts.isWhole &= kind == CsvKind::Whole;
    if (kind == CsvKind::Text && classes_.empty() &&
        facts.names.size() <= kMostClasses)
      facts.names.insert(record.text(use.column));
  }

  Result<CsvPlaces> merge() {
    CsvPlaces all;
    std::vector<CsvFacts> facts(uses_.size());
    all.places.resize(files_.files().size());
    int64_t bad = 0, rows = 0;
    std::string first;
    for (CsvPart &part : parts_) {
      if (part.bad && !bad)
        first = fmt::format("{}: {}", files_.placeOf(part.file, part.badAt),
                            part.why.message());
      bad += part.bad;
      if (bad && bad_ == BadSamples::Error)
        return badRow(first);
      auto &places = all.places[part.file];
      places.insert(places.end(), part.rows.begin(), part.rows.end());
      rows += int64_t(part.rows.size());
      part.rows = {};
      for (size_t i = 0; i < uses_.size(); ++i)
        add(part.facts[i], facts[i]);
    }
    warnOfBadRows(files_.name(), bad, rows + bad, first);
    for (size_t i = 0; i < uses_.size(); ++i) {
      DLC_TRY(checkLabel(facts[i], uses_[i]));
      facts[i].isNamed = facts[i].text.has_value();
      all.facts.push_back(std::move(facts[i]));
    }
    return all;
  }

  static void add(CsvFacts &from, CsvFacts &to) {
    to.isWhole &= from.isWhole;
    to.number = to.number ? to.number : from.number;
    to.text = to.text ? to.text : from.text;
    to.names.merge(from.names);
  }

  // Names, or numbers: a slip of the pen must not number all classes anew.
  Status checkLabel(const CsvFacts &facts, const ColumnUse &use) const {
    const std::string name = printable(files_.columns()[use.column]);
    if (facts.text && facts.number)
      return failed("column '{}' has a number in {} and none in {}: labels are "
                    "numbers, or names of classes; --classes=NAME,... says "
                    "that all are names",
                    name,
                    files_.placeOf(facts.number->first, facts.number->second),
                    files_.placeOf(facts.text->first, facts.text->second));
    if (facts.names.size() > kMostClasses)
      return failed("column '{}' has more than {} names of classes", name,
                    kMostClasses);
    return {};
  }

  const CsvFiles &files_;
  const std::vector<ColumnUse> &uses_;
  const ClassNumbers &classes_;
  BadSamples bad_;
  std::vector<CsvPart> parts_;
};

} // namespace

Result<CsvPlaces> scanRows(const CsvFiles &files,
                           const std::vector<ColumnUse> &uses,
                           const ClassNumbers &classes, BadSamples bad) {
  return CsvScan(files, uses, classes, bad).run();
}

} // namespace dlc
