// Tables in files: their columns, and where their rows are.
#pragma once

#include "runtime/base/files/Files.h"
#include "runtime/data/SampleOptions.h"
#include "runtime/data/tables/CsvRecord.h"

#include <map>
#include <set>

namespace dlc {

// Files with the same header, one after the other; mapped. Immutable; any
// thread may read.
class CsvFiles {
public:
  // What `path` names: a file, numbered ones (Range.h), or several with commas
  // between them. Names that end in .tsv have tabs between their fields. Errors
  // name the file: another header than the first's, two columns of one name,
  // text that is no UTF-8.
  static Result<std::shared_ptr<const CsvFiles>> open(const std::string &path);

  struct CsvFile {
    MappedFile file;
    size_t begin = 0; // of what is behind the header
  };

  const std::string &name() const { return name_; }
  // Names may be empty.
  const std::vector<std::string> &columns() const { return columns_; }
  const std::vector<CsvFile> &files() const { return files_; }
  CsvRecord record() const { return CsvRecord(separator_); }
  // "'a.csv', line 3" for a byte of a file.
  std::string placeOf(size_t file, size_t offset) const;

private:
  Result<CsvFile> openOne(const std::string &path);

  std::string name_;
  char separator_ = ',';
  std::vector<std::string> columns_;
  std::vector<CsvFile> files_;
};

// Whether `path` means tables, by its name.
bool isTable(const std::string &path);

// What is wanted of a column: numbers, or a label, which may be the name of a
// class, one of `classes` if there are any.
struct ColumnUse {
  size_t column = 0;
  bool isLabel = false;
};

// What was found in it.
struct ColumnFacts {
  bool isWhole = true;                                   // all numbers are
  std::optional<std::pair<size_t, size_t>> number, text; // file, byte: a first
  std::set<std::string> names;                           // texts, of labels
};

using ClassNumbers = std::map<std::string, int64_t, std::less<>>;

struct CsvRows {
  std::vector<std::vector<uint64_t>> places; // of each file's rows: bytes
  std::vector<ColumnFacts> facts;            // by use
};

// Reads all rows, on all cores. What cannot be used as is wanted (no value, no
// number, none of `classes`, another number of fields) is an error by file,
// line and column, or left out, with a warning.
Result<CsvRows> scanRows(const CsvFiles &files,
                         const std::vector<ColumnUse> &uses,
                         const ClassNumbers &classes, BadSamples bad);

} // namespace dlc
