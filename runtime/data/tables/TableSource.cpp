#include "runtime/data/tables/TableSource.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Mapping.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/process/Memory.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/DataHash.h"
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
  std::vector<int64_t> shape; // of a sample
  bool isLabel = false;
  DType dtype = DType::F64;
  bool isNamed = false; // classes
};

bool isLabelKey(const std::string &key) {
  return key == "y" || key.starts_with("y.");
}

// Arrays whose rows have been found. Immutable; any thread may read.
class ScannedTable {
public:
  static Result<std::shared_ptr<const ScannedTable>>
  scan(std::shared_ptr<const CsvFiles> files, std::vector<TableArray> arrays,
       const SampleOptions &options) {
    auto table = std::make_shared<ScannedTable>();
    table->files_ = std::move(files);
    table->arrays_ = std::move(arrays);
    std::vector<ColumnUse> uses;
    for (const TableArray &array : table->arrays_)
      for (size_t column : array.columns)
        uses.push_back({column, array.isLabel && array.columns.size() == 1});
    table->classes_ = options.classes;
    table->number();
    DLC_ASSIGN(CsvRows rows, scanRows(*table->files_, uses, table->numbers_,
                                      options.badSamples));
    table->places_ = std::move(rows.places);
    for (const auto &places : table->places_)
      table->ends_.push_back((table->ends_.empty() ? 0 : table->ends_.back()) +
                             int64_t(places.size()));
    DLC_TRY(table->settle(rows.facts)
                .withContext(fmt::format("'{}'", table->files_->name())));
    return table;
  }

  const std::vector<TableArray> &arrays() const { return arrays_; }
  const std::vector<std::string> &classes() const { return classes_; }
  int64_t count() const { return ends_.back(); }

  Status read(const TableArray &array, int64_t row, std::byte *to) const {
    const auto file = size_t(std::upper_bound(ends_.begin(), ends_.end(), row) -
                             ends_.begin());
    const auto in = size_t(row - (file ? ends_[file - 1] : 0));
    const size_t at = places_[file][in];
    thread_local CsvRecord record(',');
    record = files_->record();
    const auto size =
        record.split(files_->files()[file].file.text().substr(at));
    if (!size || record.fields() != files_->columns().size())
      return failed("{} has changed", files_->placeOf(file, at));
    for (size_t column : array.columns) {
      if (!write(record, column, array, to))
        return failed("{} has changed", files_->placeOf(file, at));
      to += sizeof(int64_t);
    }
    return {};
  }

private:
  void number() {
    for (size_t i = 0; i < classes_.size(); ++i)
      numbers_.emplace(classes_[i], int64_t(i));
  }

  // What the arrays are, now that all is known of their columns.
  Status settle(std::vector<ColumnFacts> &facts) {
    size_t use = 0;
    for (TableArray &array : arrays_) {
      bool isWhole = true;
      for (size_t i = 0; i < array.columns.size(); ++i, ++use) {
        isWhole &= facts[use].isWhole || facts[use].text;
        if (!facts[use].text || !array.isLabel || array.columns.size() > 1)
          continue;
        array.isNamed = true;
        if (!numbers_.empty())
          continue;
        if (!classes_.empty())
          return failed("'{}' is a second label of names, expected one",
                        array.key);
        classes_.assign(facts[use].names.begin(), facts[use].names.end());
      }
      array.dtype = isWhole ? DType::I64 : DType::F64;
    }
    number();
    return {};
  }

  bool write(const CsvRecord &record, size_t column, const TableArray &array,
             std::byte *to) const {
    if (array.isNamed) {
      const auto found = numbers_.find(record.text(column));
      if (found == numbers_.end())
        return false;
      std::memcpy(to, &found->second, sizeof found->second);
      return true;
    }
    const CsvValue value = csvValue(record.raw(column));
    if (value.kind != CsvKind::Whole &&
        (value.kind != CsvKind::Number || array.dtype == DType::I64))
      return false;
    if (array.dtype == DType::I64)
      std::memcpy(to, &value.whole, sizeof value.whole);
    else
      std::memcpy(to, &value.number, sizeof value.number);
    return true;
  }

  std::shared_ptr<const CsvFiles> files_;
  std::vector<TableArray> arrays_;
  std::vector<std::string> classes_; // in the order of their numbers
  ClassNumbers numbers_;
  std::vector<std::vector<uint64_t>> places_;
  std::vector<int64_t> ends_; // rows up to the end of each file
};

class TableRowReader final : public RowReader {
public:
  TableRowReader(std::shared_ptr<const ScannedTable> table, size_t array)
      : table_(std::move(table)), array_(array) {}
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
  const size_t stride = array.columns.size() * sizeof(int64_t);
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
  return Array{array.dtype, std::move(shape), {*bytes, bytes}};
}

class TableSource final : public Source {
public:
  TableSource(std::shared_ptr<const CsvFiles> files, SampleOptions options,
              std::vector<ColumnList> lists, uint64_t held)
      : files_(std::move(files)), options_(std::move(options)),
        lists_(std::move(lists)), held_(held) {}

  static Result<std::shared_ptr<const TableSource>>
  create(std::shared_ptr<const CsvFiles> files, const SampleOptions &options,
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
    return Array{table->arrays()[at].dtype, shapeOf(*table, at), {}};
  }

  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    DLC_ASSIGN(const auto table, scanned());
    DLC_ASSIGN(const size_t at, find(*table, key));
    const TableArray &array = table->arrays()[at];
    if (!isHeld(*table))
      return std::make_shared<const TableRowReader>(table, at);
    DLC_TRY(checkMemory(size_t(table->count()) * array.columns.size() * 8,
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
      std::vector<int64_t> shape{int64_t(columns.size())};
      if (!input.isLabel && checkedElements(input.shape) == columns.size())
        shape = input.shape;
      arrays.push_back(
          {input.key, std::move(columns), std::move(shape), input.isLabel});
    }
    DLC_ASSIGN(source->scanned_,
               ScannedTable::scan(files_, std::move(arrays), options));
    return source;
  }

  bool isSlow() const override {
    const std::lock_guard lock(mutex_);
    return scanned_ && !isHeld(*scanned_);
  }
  std::vector<std::string> classes() const override {
    const std::lock_guard lock(mutex_);
    return scanned_ ? scanned_->classes() : std::vector<std::string>();
  }
  Result<std::string> hash(int threads) const override {
    std::string all;
    for (const auto &file : files_->files()) {
      DLC_ASSIGN(const std::string one, hashData(file.file.path(), threads));
      all += one + "\n";
    }
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
      const auto count = int64_t(columns.size());
      arrays.push_back({key, std::move(columns), {count}, isLabelKey(key)});
    }
    DLC_ASSIGN(scanned_,
               ScannedTable::scan(files_, std::move(arrays), options_));
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
    // A label is one number.
    if (!array.isLabel || array.columns.size() > 1)
      shape.insert(shape.end(), array.shape.begin(), array.shape.end());
    return shape;
  }

  bool isHeld(const ScannedTable &table) const {
    uint64_t columns = 0;
    for (const TableArray &array : table.arrays())
      columns += array.columns.size();
    const auto bytes =
        checkedMul(uint64_t(table.count()), columns * sizeof(int64_t));
    return bytes && *bytes <= held_;
  }

  std::shared_ptr<const CsvFiles> files_;
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
  DLC_ASSIGN(auto files, CsvFiles::open(path));
  DLC_ASSIGN(auto source, TableSource::create(std::move(files), options, held));
  return std::shared_ptr<const Source>(std::move(source));
}

} // namespace dlc
