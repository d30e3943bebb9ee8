// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/parquet/ParquetTable.h"

#include "runtime/base/Text.h"

namespace dlc {

Result<std::shared_ptr<const ParquetTable>>
ParquetTable::open(const std::string &name,
                   const std::vector<std::string> &paths, uint64_t held) {
  auto table = std::make_shared<ParquetTable>();
  table->name_ = name;
  table->held_ = held;
  for (const std::string &path : paths) {
    DLC_ASSIGN(ParquetFile file, openParquet(path));
    std::vector<std::string> columns;
    for (const ParquetColumn &column : file.columns)
      columns.push_back(column.name);
    for (const std::string &column : columns)
      if (!isUtf8(column))
        return failed("'{}': the names of its columns are no UTF-8", path);
    DLC_TRY(checkColumnNames(columns).withContext(fmt::format("'{}'", path)));
    if (table->files_.empty())
      table->columns_ = std::move(columns);
    else if (columns != table->columns_)
      return failed("'{}': its columns are others than those of '{}'", path,
                    table->files_[0].file.path());
    table->files_.push_back(std::move(file));
  }
  return table;
}

std::vector<std::string> ParquetTable::paths() const {
  std::vector<std::string> paths;
  for (const ParquetFile &file : files_)
    paths.push_back(file.file.path());
  return paths;
}

} // namespace dlc
