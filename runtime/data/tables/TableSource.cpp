// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/tables/TableSource.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Mapping.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/process/Memory.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/DataHash.h"
#include "runtime/data/parquet/ParquetPictures.h"
#include "runtime/data/tables/ColumnList.h"
#include "runtime/data/tables/CsvFiles.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <span>

namespace dlc {
namespace {

// An array of a table.
struct TableArray {
  std::string key;
  std::vector<size_t> columns;
  // Shape of an input's sample: the array's if it has as many entries.
  std::optional<std::vector<int64_t>> wanted;
  bool isLabel = false;
  // When its rows have been found:
  // Of a sample; none of a label that is one number.
  std::vector<int64_t> shape = {};
  uint64_t entries = 0; // of a sample
  UsesOfArray uses = {};
};

bool isLabelKey(const std::string &key) {
  return key == "y" || key.starts_with("y.");
}

// Arrays whose rows have been found. Immutable; any thread may read.
class ScannedTable {
public:
  static Result<std::shared_ptr<const ScannedTable>>
  scan(const TableFiles &from, std::vector<TableArray> arrays,
       const SampleOptions &options) {
    auto table = std::make_shared<ScannedTable>();
    table->arrays_ = std::move(arrays);
    std::vector<ColumnUse> uses;
    for (TableArray &array : table->arrays_) {
      array.uses = {uses.size(), array.columns.size()};
      for (size_t column : array.columns)
        uses.push_back({column, array.isLabel && array.columns.size() == 1});
    }
    table->classes_ = options.classes;
    table->number();
    DLC_ASSIGN(table->rows_,
               from.rows(uses, table->numbers_, options.badSamples));
    DLC_TRY(table->settle().withContext(fmt::format("'{}'", from.name())));
    return table;
  }

  const std::vector<TableArray> &arrays() const { return arrays_; }
  const std::vector<std::string> &classes() const { return classes_; }
  int64_t count() const { return rows_->count(); }
  bool isDecoded() const { return rows_->isDecoded(); }
  Status read(const TableArray &array, int64_t row, std::byte *to) const {
    return rows_->read(row, array.uses, numbers_, to);
  }

private:
  void number() {
    for (size_t i = 0; i < classes_.size(); ++i)
      numbers_.emplace(classes_[i], int64_t(i));
  }

  // What the arrays are, now that all is known of their columns.
  Status settle() {
    for (TableArray &array : arrays_) {
      bool isWhole = true;
      for (size_t i = 0; i < array.uses.count; ++i) {
        const ColumnFacts &facts = rows_->facts()[array.uses.first + i];
        isWhole &= facts.isWhole;
        const auto entries = checkedElements(facts.shape);
        const auto sum =
            entries ? checkedAdd(array.entries, *entries) : entries;
        if (!sum)
          return failed("'{}' is too large", array.key);
        array.entries = *sum;
        if (facts.isNamed)
          DLC_TRY(setNamed(array, facts));
      }
      array.uses.dtype =
          isWhole || array.uses.isNamed ? DType::I64 : DType::F64;
      array.shape = shapeOf(array);
    }
    number();
    return {};
  }

  Status setNamed(TableArray &array, const ColumnFacts &facts) {
    array.uses.isNamed = true;
    if (!numbers_.empty())
      return {};
    if (!classes_.empty())
      return failed("'{}' is a second label of names, expected one", array.key);
    classes_.assign(facts.names.begin(), facts.names.end());
    return {};
  }

  std::vector<int64_t> shapeOf(const TableArray &array) const {
    const bool isOne = array.uses.count == 1;
    const auto &own = rows_->facts()[array.uses.first].shape;
    if (!array.isLabel && array.wanted &&
        checkedElements(*array.wanted) == array.entries)
      return *array.wanted;
    if (isOne && (array.isLabel || !own.empty()))
      return own;
    return {int64_t(array.entries)};
  }

  std::shared_ptr<const TableRows> rows_;
  std::vector<TableArray> arrays_;
  std::vector<std::string> classes_; // in the order of their numbers
  ClassNumbers numbers_;
};

class TableRowReader final : public RowReader {
public:
  TableRowReader(std::shared_ptr<const ScannedTable> table, size_t array)
      : table_(std::move(table)), array_(array) {}
  bool isInMemory() const override { return table_->isDecoded(); }
  Status read(int64_t row, const TrainingPass *, std::byte *to) const override {
    return table_->read(table_->arrays()[array_], row, to);
  }

private:
  std::shared_ptr<const ScannedTable> table_;
  size_t array_;
};

// All rows of an array, parsed on all cores.
Result<Array> parseAll(const ScannedTable &table, const TableArray &array,
                       std::vector<int64_t> shape) {
  constexpr int64_t kRows = 4096; // that a thread takes at once
  const size_t stride = array.entries * sizeof(int64_t);
  auto bytes =
      std::make_shared<std::vector<std::byte>>(size_t(table.count()) * stride);
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  Status error;
  runTogether(size_t(coresOfProcess()), [&] {
    for (int64_t from; (from = next.fetch_add(kRows)) < table.count();)
      for (int64_t row = from; row < std::min(from + kRows, table.count());
           ++row)
        if (const Status status =
                table.read(array, row, bytes->data() + size_t(row) * stride);
            !status.ok()) {
          const std::lock_guard lock(mutex);
          error = status;
          return;
        }
  });
  DLC_TRY(error);
  DLC_TRY(mappedFilesStatus());
  return Array{array.uses.dtype, std::move(shape), {*bytes, bytes}};
}

class TableSource final : public Source {
public:
  TableSource(std::shared_ptr<const TableFiles> files, SampleOptions options,
              std::vector<ColumnList> lists, uint64_t held)
      : files_(std::move(files)), options_(std::move(options)),
        lists_(std::move(lists)), held_(held) {}

  static Result<std::shared_ptr<const TableSource>>
  create(std::shared_ptr<const TableFiles> files, const SampleOptions &options,
         uint64_t held) {
    DLC_ASSIGN(auto lists, parseColumnLists(options.columns));
    for (const ColumnList &list : lists)
      DLC_TRY(findColumns(list, files->columns())
                  .status()
                  .withContext(fmt::format("'{}': --columns", files->name())));
    return std::make_shared<const TableSource>(std::move(files), options,
                                               std::move(lists), held);
  }

  std::string name() const override { return files_->name(); }
  std::vector<std::string> keys() const override {
    std::vector<std::string> keys;
    for (const ColumnList &list : lists_)
      keys.push_back(list.array);
    for (const std::string &column : files_->columns())
      if (!column.empty() &&
          std::find(keys.begin(), keys.end(), column) == keys.end())
        keys.push_back(column);
    if (std::find(keys.begin(), keys.end(), "x") == keys.end() &&
        !restColumns().empty())
      keys.push_back("x");
    return keys;
  }

  Result<Array> head(const std::string &key) const override {
    DLC_ASSIGN(const auto table, scanned());
    DLC_ASSIGN(const size_t at, find(*table, key));
    return Array{table->arrays()[at].uses.dtype, shapeOf(*table, at), {}};
  }

  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    DLC_ASSIGN(const auto table, scanned());
    DLC_ASSIGN(const size_t at, find(*table, key));
    const TableArray &array = table->arrays()[at];
    if (!isHeld(*table))
      return std::make_shared<const TableRowReader>(table, at);
    DLC_TRY(checkMemory(size_t(table->count()) * array.entries * 8,
                        "an array of a table"));
    DLC_ASSIGN(Array all, parseAll(*table, array, shapeOf(*table, at)));
    return readerOf(std::move(all));
  }

  Result<std::shared_ptr<const Source>>
  shaped(std::span<const SampleInput> inputs,
         const SampleOptions &options) const override {
    DLC_ASSIGN(const auto source, create(files_, options, held_));
    std::vector<TableArray> arrays;
    for (const SampleInput &input : inputs) {
      DLC_ASSIGN(std::vector<size_t> columns, source->columnsOf(input.key));
      arrays.push_back(
          {input.key, std::move(columns), input.shape, input.isLabel});
    }
    DLC_ASSIGN(source->scanned_,
               ScannedTable::scan(*files_, std::move(arrays), options));
    return source;
  }

  bool isSlow() const override {
    const std::lock_guard lock(mutex_);
    return scanned_ && !scanned_->isDecoded() && !isHeld(*scanned_);
  }
  std::vector<std::string> classes() const override {
    const std::lock_guard lock(mutex_);
    return scanned_ ? scanned_->classes() : std::vector<std::string>();
  }
  Result<std::string> hash(int threads) const override {
    DLC_ASSIGN(const auto all, hashesOfData(files_->paths(), threads));
    return sha256(std::as_bytes(std::span(all)));
  }

private:
  // What no list has and is not called y.
  std::vector<size_t> restColumns() const {
    std::vector<bool> taken(files_->columns().size());
    for (const ColumnList &list : lists_)
      if (const auto columns = findColumns(list, files_->columns()))
        for (size_t column : *columns)
          taken[column] = true;
    std::vector<size_t> rest;
    for (size_t i = 0; i < taken.size(); ++i)
      if (!taken[i] && !isLabelKey(files_->columns()[i]))
        rest.push_back(i);
    return rest;
  }

  Result<std::vector<size_t>> columnsOf(const std::string &key) const {
    const auto &names = files_->columns();
    for (const ColumnList &list : lists_)
      if (list.array == key)
        return findColumns(list, names);
    const auto found = std::find(names.begin(), names.end(), key);
    if (found != names.end() && !key.empty())
      return std::vector{size_t(found - names.begin())};
    std::vector<size_t> rest = restColumns();
    if (key != "x" || rest.empty())
      return noSuchArray(*this, key).withContext("--columns can name one");
    for (size_t column : rest)
      if (names[column].empty())
        return failed("'{}': column {} has no name and would be one of x: say "
                      "by --columns=x:... which are",
                      name(), column + 1);
    return rest;
  }

  // The arrays that shaped() was asked for, or those that anybody may ask for.
  Result<std::shared_ptr<const ScannedTable>> scanned() const {
    const std::lock_guard lock(mutex_);
    if (scanned_)
      return scanned_;
    std::vector<TableArray> arrays;
    for (const std::string &key : keys()) {
      const bool isOwn = key == "x" || isLabelKey(key) ||
                         std::any_of(lists_.begin(), lists_.end(),
                                     [&](const ColumnList &list) {
                                       return list.array == key;
                                     });
      if (!isOwn)
        continue;
      DLC_ASSIGN(auto columns, columnsOf(key));
      arrays.push_back(
          {key, std::move(columns), std::nullopt, isLabelKey(key)});
    }
    DLC_ASSIGN(scanned_,
               ScannedTable::scan(*files_, std::move(arrays), options_));
    return scanned_;
  }

  Result<size_t> find(const ScannedTable &table, const std::string &key) const {
    for (size_t i = 0; i < table.arrays().size(); ++i)
      if (table.arrays()[i].key == key)
        return i;
    return noSuchArray(*this, key);
  }

  static std::vector<int64_t> shapeOf(const ScannedTable &table, size_t at) {
    const TableArray &array = table.arrays()[at];
    std::vector<int64_t> shape{table.count()};
    shape.insert(shape.end(), array.shape.begin(), array.shape.end());
    return shape;
  }

  bool isHeld(const ScannedTable &table) const {
    std::optional<uint64_t> entries = 0;
    for (const TableArray &array : table.arrays())
      entries = entries ? checkedAdd(*entries, array.entries) : entries;
    const auto bytes =
        entries
            ? checkedMul(uint64_t(table.count()) * sizeof(int64_t), *entries)
            : entries;
    return bytes && *bytes <= held_;
  }

  std::shared_ptr<const TableFiles> files_;
  SampleOptions options_;
  std::vector<ColumnList> lists_;
  uint64_t held_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const ScannedTable> scanned_; // null: not yet
};

} // namespace

Result<std::shared_ptr<const Source>> openTable(const std::string &path,
                                                const SampleOptions &options,
                                                uint64_t held) {
  DLC_ASSIGN(const auto files, filesOfTable(path));
  DLC_ASSIGN(const bool isParquet, areParquet(files));
  std::shared_ptr<const TableFiles> table;
  if (isParquet) {
    DLC_ASSIGN(const auto parquet, ParquetTable::open(path, files, held));
    DLC_ASSIGN(auto pictures, openParquetPictures(parquet, options, held));
    if (pictures)
      return pictureSource(std::move(pictures), options.badSamples);
    table = parquet;
  } else {
    DLC_ASSIGN(table, CsvFiles::open(path, files));
  }
  DLC_ASSIGN(auto source, TableSource::create(std::move(table), options, held));
  return std::shared_ptr<const Source>(std::move(source));
}

} // namespace dlc
