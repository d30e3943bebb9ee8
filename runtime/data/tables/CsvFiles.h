// SPDX-License-Identifier: Apache-2.0
// Tables as text: their columns, and where their rows are.
#pragma once

#include "runtime/base/files/Files.h"
#include "runtime/data/tables/CsvRecord.h"
#include "runtime/data/tables/Table.h"

namespace dlc {

// Files with the same header, one after the other; mapped.
class CsvFiles final : public TableFiles,
                       public std::enable_shared_from_this<CsvFiles> {
public:
  // A table of these files, called `name`. Names that end in .tsv have tabs
  // between their fields, others what the first file's header has: commas,
  // else semicolons, else tabs. Errors name the file: another header than the
  // first's, two columns of one name, text that is no UTF-8.
  static Result<std::shared_ptr<const CsvFiles>>
  open(const std::string &name, const std::vector<std::string> &paths);

  struct CsvFile {
    MappedFile file;
    size_t begin = 0; // of what is behind the header
  };

  const std::vector<CsvFile> &files() const { return files_; }
  char separator() const { return separator_; }
  CsvRecord record() const { return CsvRecord(separator_); }
  // "'a.csv', line 3" for a byte of a file.
  std::string placeOf(size_t file, size_t offset) const;

  std::vector<std::string> paths() const override;
  Result<std::shared_ptr<const TableRows>>
  rows(const std::vector<ColumnUse> &uses, const ClassNumbers &classes,
       BadSamples bad) const override;

private:
  Result<CsvFile> openOne(const std::string &path);

  char separator_ = '\0'; // not known yet
  std::vector<CsvFile> files_;
};

// Where rows are in their files, as rows() finds them; the index takes 8 bytes
// a row.
struct CsvPlaces {
  std::vector<std::vector<uint64_t>> places; // of each file's rows: bytes
  std::vector<ColumnFacts> facts;            // by use
};
Result<CsvPlaces> scanRows(const CsvFiles &files,
                           const std::vector<ColumnUse> &uses,
                           const ClassNumbers &classes, BadSamples bad);

} // namespace dlc
