// SPDX-License-Identifier: Apache-2.0
// Tables in Parquet files.
#pragma once

#include "runtime/data/parquet/ParquetFile.h"
#include "runtime/data/tables/Table.h"

namespace dlc {

// Files with the same columns, one after the other; mapped. A column of lists
// has as many entries a row as its lists have elements, which must be as many
// in all rows.
class ParquetTable final : public TableFiles {
public:
  // A table of these files, called `name`. rows() decodes what is wanted once:
  // in memory, or, if it takes more than `held` bytes, in a file of that size
  // without a name in TMPDIR.
  static Result<std::shared_ptr<const ParquetTable>>
  open(const std::string &name, const std::vector<std::string> &paths,
       uint64_t held);

  const std::vector<ParquetFile> &files() const { return files_; }

  // Of what `each`, a function of a file, says.
  uint64_t sum(uint64_t (ParquetFile::*each)() const) const {
    uint64_t all = 0;
    for (const ParquetFile &file : files_)
      all += (file.*each)();
    return all;
  }

  std::vector<std::string> paths() const override;
  Result<std::shared_ptr<const TableRows>>
  rows(const std::vector<ColumnUse> &uses, const ClassNumbers &classes,
       BadSamples bad) const override;

private:
  std::vector<ParquetFile> files_;
  uint64_t held_ = 0;
};

} // namespace dlc
