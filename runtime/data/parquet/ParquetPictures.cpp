// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/parquet/ParquetPictures.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Mapping.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/DataHash.h"
#include "runtime/data/parquet/Cells.h"
#include "runtime/data/parquet/ClassNames.h"
#include "runtime/data/parquet/ColumnRows.h"
#include "runtime/data/tables/ColumnList.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace dlc {
namespace {

// Takes the value of one row: none, or one. An error ends the reading.
using TakeValue = std::function<Status(const RowValues *)>;

std::string placeIn(const ParquetFile &file, uint64_t row) {
  return fmt::format("{} row {}", file.file.path(), row);
}

Status eachRow(const ParquetTable &table, size_t column,
               const TakeValue &take) {
  for (const ParquetFile &file : table.files()) {
    uint64_t before = 0;
    for (size_t group = 0; group < file.groups.size(); ++group) {
      Status status;
      const auto one = [&](uint64_t row, const ColumnRow &found,
                           const RowValues &values) {
        status = take(found.isMissing ? nullptr : &values)
                     .withContext(fmt::format(
                         "'{}': column '{}'", placeIn(file, before + row),
                         printable(file.columns[column].name)));
        return status.ok();
      };
      DLC_TRY(readRows(file, column, group, {}, one));
      DLC_TRY(status);
      before += file.groups[group].rows;
    }
  }
  return mappedFilesStatus();
}

std::span<const std::byte> bytesOf(const RowValues *values) {
  return values ? std::as_bytes(std::span(values->texts[0]))
                : std::span<const std::byte>();
}

// Files with columns of the same names may have other types.
Status checkTypes(const ParquetTable &table, size_t column) {
  const ParquetColumn &first = table.files()[0].columns[column];
  for (const ParquetFile &file : table.files())
    if (const ParquetColumn &one = file.columns[column];
        one.kind != first.kind || one.mostRepetition != first.mostRepetition)
      return failed("'{}': column '{}' has another type than in '{}'",
                    file.file.path(), printable(one.name),
                    table.files()[0].file.path());
  return {};
}

// Whether the first value that is there is a picture.
Result<bool> holdsPictures(const ParquetTable &table, size_t column) {
  for (const ParquetFile &file : table.files())
    if (const ParquetColumn &of = file.columns[column];
        of.type != ParquetType::Bytes || of.kind != ParquetKind::Text ||
        of.what != "bytes" || of.mostRepetition > 0)
      return false;
  bool isFound = false, isPicture = false;
  for (const ParquetFile &file : table.files())
    for (size_t group = 0; group < file.groups.size() && !isFound; ++group)
      DLC_TRY(readRows(
          file, column, group, {},
          [&](uint64_t, const ColumnRow &row, const RowValues &values) {
            if (row.isMissing)
              return true;
            isFound = true;
            isPicture = !kindOfPicture(bytesOf(&values)).empty();
            return false;
          }));
  return isPicture;
}

// The columns that pictures and classes are in.
struct PictureColumns {
  std::optional<size_t> pictures, classes;
};

std::optional<size_t> columnCalled(const ParquetTable &table,
                                   std::string_view name) {
  const auto &names = table.columns();
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::nullopt
                              : std::optional(size_t(found - names.begin()));
}

Result<PictureColumns> findPictures(const ParquetTable &table,
                                    const std::string &columns) {
  PictureColumns found;
  bool isNamed = false;
  std::string other;
  const auto lists = parseColumnLists(columns);
  if (!lists)
    return PictureColumns(); // the table says what is wrong
  for (const ColumnList &list : *lists) {
    const auto some = findColumns(list, table.columns());
    if (!some)
      return PictureColumns();
    isNamed |= list.array == "x";
    if (list.array == "x" && some->size() == 1)
      found.pictures = (*some)[0];
    else if (list.array == "y" && some->size() == 1)
      found.classes = (*some)[0];
    else if (list.array != "x")
      other = list.array;
  }
  if (!found.classes)
    found.classes = columnCalled(table, "y");
  if (!found.classes)
    found.classes = columnCalled(table, "label");
  for (size_t i = 0; i < table.columns().size(); ++i) {
    if (isNamed ? found.pictures != i : found.classes == i)
      continue;
    DLC_ASSIGN(const bool holds, holdsPictures(table, i));
    if (isNamed && !holds)
      return PictureColumns();
    if (!isNamed && holds && found.pictures)
      return failed("columns '{}' and '{}' have pictures: --columns=x:{} takes "
                    "one",
                    printable(table.columns()[*found.pictures]),
                    printable(table.columns()[i]),
                    printable(table.columns()[i]));
    if (holds)
      found.pictures = i;
  }
  if (found.pictures && !other.empty())
    return failed("--columns: pictures have the arrays x and y alone, a column "
                  "each, found '{}'",
                  printable(other));
  return found;
}

class ParquetPictures final : public Pictures {
public:
  ParquetPictures(std::shared_ptr<const ParquetTable> table)
      : table_(std::move(table)) {}

  // Two passes, so that no more than a page is held beside the result.
  Status readPictures(size_t column, uint64_t held) {
    const uint64_t most = table_->sum(&ParquetFile::mostText);
    if (table_->sum(&ParquetFile::rowCount) >
        table_->sum(&ParquetFile::mostNumbers))
      return tooLarge("rows");
    DLC_TRY(eachRow(*table_, column, [&](const RowValues *values) -> Status {
      const size_t size = bytesOf(values).size();
      if (size > kMaxPictureFile)
        return failed("{} bytes, expected at most {}", size, kMaxPictureFile);
      offsets_.push_back(offsets_.back() + size);
      return offsets_.back() <= most ? Status() : tooLarge("pictures");
    }));
    DLC_ASSIGN(Cells cells, Cells::make((offsets_.back() + 7) / 8, held));
    bytes_ = std::make_shared<const Cells>(std::move(cells));
    size_t row = 0;
    return eachRow(*table_, column, [&](const RowValues *values) -> Status {
      const auto from = bytesOf(values);
      if (row >= size_t(count()) || from.size() != bytesAt(row).size())
        return failed("it changed while it was read");
      const auto to = bytesAt(row++);
      std::copy(from.begin(), from.end(), to.begin());
      bytes_->release(to);
      return {};
    });
  }

  Status readClasses(size_t column) {
    DLC_TRY(checkTypes(*table_, column));
    const ParquetColumn &of = table_->files()[0].columns[column];
    const bool isText = of.kind == ParquetKind::Text;
    const bool isWhole =
        of.kind == ParquetKind::Whole || of.kind == ParquetKind::Unsigned;
    if ((!isText && !isWhole) || of.mostRepetition > 0)
      return failed("column '{}' has no classes, expected whole numbers or "
                    "names; --columns=y:... names another",
                    printable(of.name));
    std::map<std::string, int64_t, std::less<>> names; // as they come
    uint64_t bytes = 0;
    DLC_TRY(eachRow(*table_, column, [&](const RowValues *values) -> Status {
      if (!values)
        return failed("no value");
      if (!isText) {
        labels_.push_back(values->whole[0]);
        return {};
      }
      const auto [name, isNew] =
          names.emplace(values->texts[0], int64_t(names.size()));
      labels_.push_back(name->second);
      bytes += isNew ? name->first.size() : 0;
      return bytes <= table_->sum(&ParquetFile::mostText)
                 ? Status()
                 : tooLarge("names of classes");
    }));
    if (isWhole)
      return nameNumbers(of.name);
    std::vector<int64_t> numbers(names.size()); // by their order
    for (const auto &[name, number] : names) {
      numbers[size_t(number)] = int64_t(classes_.size());
      classes_.push_back(name);
    }
    for (int64_t &label : labels_)
      label = numbers[size_t(label)];
    return {};
  }

  // Names that the file has for the labels' numbers.
  Status nameNumbers(const std::string &column) {
    DLC_ASSIGN(classes_, classNamesOf(table_->files(), column));
    const auto count = int64_t(classes_.size());
    for (const int64_t label : labels_)
      if (count > 0 && (label < 0 || label >= count)) {
        warning("'{}': column '{}' has the label {}, but names for 0 to {} "
                "alone: classes have numbers",
                table_->name(), printable(column), label, count - 1);
        classes_.clear();
        break;
      }
    return {};
  }

  std::string name() const override { return table_->name(); }
  int64_t count() const override { return int64_t(offsets_.size()) - 1; }
  std::string nameOf(int64_t index) const override {
    auto row = uint64_t(index);
    for (const ParquetFile &file : table_->files()) {
      if (row < file.rows)
        return placeIn(file, row);
      row -= file.rows;
    }
    return table_->name();
  }
  Result<SharedBytes> read(int64_t index) const override {
    const auto bytes = bytesAt(size_t(index));
    return SharedBytes{
        bytes, std::shared_ptr<const void>(bytes.data(),
                                           [bytes, all = bytes_](const void *) {
                                             all->release(bytes);
                                           })};
  }
  const std::vector<int64_t> &labels() const override { return labels_; }
  const std::vector<std::string> &classes() const override { return classes_; }
  Result<std::string> hash() const override {
    DLC_ASSIGN(const auto all, hashesOfData(table_->paths(), coresOfProcess()));
    return sha256(std::as_bytes(std::span(all)));
  }

private:
  Status tooLarge(std::string_view what) const {
    return limitExceeded("'{}': its {} are too many for its size: store it "
                         "with less compression",
                         table_->name(), what);
  }
  std::span<std::byte> bytesAt(size_t row) const {
    const uint64_t size = offsets_[row + 1] - offsets_[row];
    if (size == 0)
      return {};
    return {reinterpret_cast<std::byte *>(bytes_->at(0)) + offsets_[row],
            size_t(size)};
  }

  std::shared_ptr<const ParquetTable> table_;
  std::shared_ptr<const Cells> bytes_;
  std::vector<uint64_t> offsets_ = {0}; // of each row's bytes, and their end
  std::vector<int64_t> labels_;
  std::vector<std::string> classes_;
};

} // namespace

Result<std::shared_ptr<const Pictures>>
openParquetPictures(std::shared_ptr<const ParquetTable> table,
                    const SampleOptions &options, uint64_t held) {
  const std::string context = fmt::format("'{}'", table->name());
  const auto columns = findPictures(*table, options.columns);
  if (!columns)
    return columns.status().withContext(context);
  if (!columns->pictures)
    return std::shared_ptr<const Pictures>();
  auto pictures = std::make_shared<ParquetPictures>(std::move(table));
  DLC_TRY(pictures->readPictures(*columns->pictures, held));
  if (columns->classes)
    DLC_TRY(pictures->readClasses(*columns->classes).withContext(context));
  if (pictures->count() == 0)
    return failed("{} has no samples", context);
  return std::shared_ptr<const Pictures>(std::move(pictures));
}

} // namespace dlc
