// SPDX-License-Identifier: Apache-2.0
// Columns as rows of numbers, decoded once, by all cores.
#include "runtime/base/Text.h"
#include "runtime/base/files/Mapping.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/parquet/Cells.h"
#include "runtime/data/parquet/ColumnRows.h"
#include "runtime/data/parquet/ParquetTable.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

namespace dlc {
namespace {

constexpr std::string_view kOfPictures =
    "; the first that is there is no JPEG, PNG or WebP";

// What becomes of a column's values.
struct ParquetUse {
  size_t column = 0;
  std::vector<int64_t> shape;    // of a row's value
  uint64_t first = 0, count = 1; // its entries in a row of cells
  bool isLabel = false, isText = false, isWhole = true;
  bool isNamed = false; // names of classes
};

// Row by row: whole numbers, and the bits of others.
class ParquetRows final : public TableRows {
public:
  bool isDecoded() const override { return true; }
  Status read(int64_t row, const UsesOfArray &uses, const ClassNumbers &,
              std::byte *to) const override {
    const uint64_t at = good.empty() ? uint64_t(row) : good[size_t(row)];
    for (size_t i = uses.first; i < uses.first + uses.count; ++i) {
      const ParquetUse &use = this->uses[i];
      const uint64_t *from = cells.at(at * width + use.first);
      const size_t bytes = use.count * sizeof *from;
      if (use.isWhole == (uses.dtype == DType::I64))
        std::memcpy(to, from, bytes);
      else // whole numbers beside others
        for (size_t entry = 0; entry < use.count; ++entry) {
          const auto number = double(int64_t(from[entry]));
          std::memcpy(to + entry * sizeof number, &number, sizeof number);
        }
      to += bytes;
    }
    return {};
  }

  std::vector<ParquetUse> uses;
  Cells cells;
  uint64_t width = 0;         // cells of a row
  std::vector<uint64_t> good; // rows, if some are left out
  void setFacts(int64_t count, std::vector<ColumnFacts> facts) {
    count_ = count, facts_ = std::move(facts);
  }
};

// A column in a group of rows, for one thread.
struct ParquetTask {
  size_t file = 0, group = 0, use = 0;
  uint64_t firstRow = 0; // of all files
  // Names of classes by the numbers that the cells have until all are known.
  std::map<std::string, uint64_t, std::less<>> names;
  std::vector<uint64_t> bad; // rows
  std::string why;           // of the first
  Status error;
};

class ParquetDecoder {
public:
  ParquetDecoder(const ParquetTable &table, const ClassNumbers &classes,
                 BadSamples bad)
      : table_(table), classes_(classes), bad_(bad),
        rows_(std::make_shared<ParquetRows>()) {}

  Result<std::shared_ptr<const TableRows>>
  run(const std::vector<ColumnUse> &uses, uint64_t held) {
    for (const ColumnUse &use : uses)
      DLC_TRY(add(use));
    for (const ParquetFile &file : table_.files())
      count_ += file.rows;
    const auto cells = checkedMul(count_, rows_->width);
    if (!cells || *cells > table_.sum(&ParquetFile::mostNumbers))
      return limitExceeded("'{}' has too many numbers for its size: store it "
                           "with less compression, or as .npz",
                           table_.name());
    auto made = Cells::make(*cells, held);
    if (!made)
      return made.status().withContext(fmt::format("'{}'", table_.name()));
    rows_->cells = *std::move(made);
    addTasks();
    eachTask([this](ParquetTask &task) { decode(task); });
    DLC_TRY(mappedFilesStatus());
    DLC_TRY(settleBad());
    DLC_TRY(settleFacts());
    return rows_;
  }

private:
  Status add(const ColumnUse &wanted) {
    ParquetUse use;
    use.column = wanted.column, use.isLabel = wanted.isLabel;
    const auto &files = table_.files();
    const std::string name = printable(table_.columns()[wanted.column]);
    use.isText = files[0].columns[wanted.column].kind == ParquetKind::Text;
    for (const ParquetFile &file : files) {
      const ParquetColumn &column = file.columns[wanted.column];
      const bool isText = column.kind == ParquetKind::Text;
      const bool fits = use.isLabel && column.mostRepetition == 0;
      if (column.kind == ParquetKind::Other || (isText && !fits))
        return failed("'{}': column '{}' has {}, expected numbers: --columns "
                      "says which are read{}",
                      file.file.path(), name, column.what,
                      column.what == "bytes" ? kOfPictures : "");
      if (isText != use.isText ||
          column.mostRepetition !=
              files[0].columns[wanted.column].mostRepetition)
        return failed("'{}': column '{}' has values of another kind than in "
                      "'{}'",
                      file.file.path(), name, files[0].file.path());
      use.isWhole &= column.kind != ParquetKind::Number &&
                     column.kind != ParquetKind::Half &&
                     column.kind != ParquetKind::Decimal;
    }
    use.isNamed = use.isText || (use.isLabel && !classes_.empty());
    use.isWhole |= use.isNamed;
    DLC_TRY(setShape(use));
    use.first = rows_->width;
    const auto width = checkedAdd(rows_->width, use.count);
    if (!width)
      return limitExceeded("'{}' is too large", table_.name());
    rows_->width = *width;
    rows_->uses.push_back(std::move(use));
    return {};
  }

  // That of the first row which has one.
  Status setShape(ParquetUse &use) const {
    if (table_.files()[0].columns[use.column].mostRepetition == 0)
      return {};
    for (const ParquetFile &file : table_.files()) {
      DLC_ASSIGN(use.shape, shapeOfRows(file, use.column));
      const auto count = checkedElements(use.shape);
      if (!count)
        return limitExceeded("'{}': lists of column '{}' are too long",
                             file.file.path(),
                             printable(table_.columns()[use.column]));
      use.count = *count;
      if (use.count > 0)
        break;
    }
    return {};
  }

  void addTasks() {
    uint64_t row = 0;
    for (size_t file = 0; file < table_.files().size(); ++file)
      for (size_t group = 0; group < table_.files()[file].groups.size();
           ++group) {
        for (size_t use = 0; use < rows_->uses.size(); ++use) {
          ParquetTask task;
          task.file = file, task.group = group, task.use = use;
          task.firstRow = row;
          tasks_.push_back(std::move(task));
        }
        row += table_.files()[file].groups[group].rows;
      }
  }

  template <class Work> void eachTask(const Work &work) {
    std::atomic<size_t> next = 0;
    const auto most = std::max<size_t>(tasks_.size(), 1);
    runTogether(std::clamp<size_t>(size_t(coresOfProcess()), 1, most), [&] {
      for (size_t i; (i = next++) < tasks_.size();)
        work(tasks_[i]);
    });
  }

  void decode(ParquetTask &task) const {
    const ParquetUse &use = rows_->uses[task.use];
    const uint64_t rows = table_.files()[task.file].groups[task.group].rows;
    task.error = readRows(
        table_.files()[task.file], use.column, task.group, use.shape,
        [&](uint64_t row, const ColumnRow &found, const RowValues &values) {
          if (row >= rows)
            return true; // counted: an error
          const uint64_t at = task.firstRow + row;
          std::string why =
              write(use, found, values, task,
                    rows_->cells.at(at * rows_->width + use.first));
          if (why.empty())
            return true;
          if (task.bad.empty())
            task.why = std::move(why);
          task.bad.push_back(at);
          return bad_ == BadSamples::Skip;
        });
  }

  // A row's value, or why there is none.
  std::string write(const ParquetUse &use, const ColumnRow &found,
                    const RowValues &values, ParquetTask &task,
                    uint64_t *to) const {
    if (found.isMissing)
      return "no value";
    if (!found.hasShape)
      return fmt::format("a list of another length, expected [{}] as in the "
                         "first row",
                         fmt::join(use.shape, ", "));
    for (size_t i = 0; i < use.count; ++i) {
      if (use.isNamed) {
        std::string why = writeName(nameOf(use, values, i), task, to[i]);
        if (!why.empty())
          return why;
      } else if (values.numbers.empty()) {
        const int64_t whole = values.whole[i];
        to[i] = use.isWhole ? uint64_t(whole)
                            : std::bit_cast<uint64_t>(double(whole));
      } else {
        const double number = values.numbers[i];
        if (std::isnan(number))
          return "no value";
        if (std::isinf(number))
          return fmt::format("'{}' is not finite", number);
        to[i] = std::bit_cast<uint64_t>(number);
      }
    }
    return "";
  }

  static std::string nameOf(const ParquetUse &use, const RowValues &values,
                            size_t entry) {
    if (use.isText)
      return values.texts[entry];
    return values.numbers.empty() ? std::to_string(values.whole[entry])
                                  : fmt::format("{}", values.numbers[entry]);
  }

  std::string writeName(const std::string &name, ParquetTask &task,
                        uint64_t &to) const {
    if (!classes_.empty()) {
      const auto found = classes_.find(name);
      if (found == classes_.end())
        return fmt::format("'{}' is none of the {} classes", printable(name),
                           classes_.size());
      to = uint64_t(found->second);
      return "";
    }
    if (name.empty())
      return "no value";
    if (!isUtf8(name))
      return "a name that is no UTF-8";
    const auto known = task.names.find(name);
    if (known == task.names.end() && task.names.size() > kMostClasses)
      to = 0; // an error, when all is counted
    else
      to = known != task.names.end()
               ? known->second
               : task.names.emplace(name, task.names.size()).first->second;
    return "";
  }

  // Rows that are bad in any column are left out.
  Status settleBad() {
    const ParquetTask *first = nullptr;
    std::vector<uint64_t> bad;
    for (const ParquetTask &task : tasks_) {
      DLC_TRY(task.error);
      bad.insert(bad.end(), task.bad.begin(), task.bad.end());
      if (!task.bad.empty() && (!first || task.bad[0] < first->bad[0]))
        first = &task;
    }
    if (!first)
      return {};
    const std::string place =
        fmt::format("{}: column '{}': {}", placeOf(first->bad[0]),
                    printable(table_.columns()[rows_->uses[first->use].column]),
                    first->why);
    if (bad_ == BadSamples::Error)
      return badRow(place);
    std::sort(bad.begin(), bad.end());
    bad.erase(std::unique(bad.begin(), bad.end()), bad.end());
    for (uint64_t row = 0, next = 0; row < count_; ++row)
      if (next < bad.size() && bad[next] == row)
        ++next;
      else
        rows_->good.push_back(row);
    warnOfBadRows(table_.name(), int64_t(bad.size()), int64_t(count_), place);
    isAllBad_ = rows_->good.empty();
    return {};
  }

  // "'a.parquet', row 17", counted from 0 in its file, as pandas does.
  std::string placeOf(uint64_t row) const {
    for (const ParquetFile &file : table_.files()) {
      if (row < file.rows)
        return fmt::format("'{}', row {}", file.file.path(), row);
      row -= file.rows;
    }
    return "";
  }

  Status settleFacts() {
    std::vector<ColumnFacts> facts(rows_->uses.size());
    for (size_t i = 0; i < facts.size(); ++i) {
      const ParquetUse &use = rows_->uses[i];
      facts[i].isWhole = use.isWhole;
      facts[i].isNamed = use.isNamed;
      facts[i].shape = use.shape;
      if (use.isNamed && classes_.empty())
        DLC_TRY(number(i, facts[i].names));
    }
    const bool isAll = rows_->good.empty() && !isAllBad_;
    rows_->setFacts(int64_t(isAll ? count_ : rows_->good.size()),
                    std::move(facts));
    return {};
  }

  // Classes by the order of their names, of rows that are not left out.
  Status number(size_t use, std::set<std::string> &names) {
    const auto isBad = [&](uint64_t row) {
      return isAllBad_ ||
             (!rows_->good.empty() &&
              !std::binary_search(rows_->good.begin(), rows_->good.end(), row));
    };
    const auto eachCell = [&](ParquetTask &task, const auto &visit) {
      const uint64_t rows = table_.files()[task.file].groups[task.group].rows;
      for (uint64_t row = task.firstRow; row < task.firstRow + rows; ++row)
        if (!isBad(row))
          visit(*rows_->cells.at(row * rows_->width + rows_->uses[use].first));
    };
    std::vector<std::vector<const std::string *>> byNumber(tasks_.size());
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].use != use)
        continue;
      byNumber[i].resize(tasks_[i].names.size());
      for (const auto &[name, number] : tasks_[i].names)
        byNumber[i][number] = &name;
      std::vector<bool> isUsed(tasks_[i].names.size());
      eachCell(tasks_[i], [&](uint64_t cell) { isUsed[cell] = true; });
      for (size_t name = 0; name < isUsed.size(); ++name)
        if (isUsed[name])
          names.insert(*byNumber[i][name]);
    }
    if (names.size() > kMostClasses)
      return failed(
          "'{}': column '{}' has more than {} names of classes", table_.name(),
          printable(table_.columns()[rows_->uses[use].column]), kMostClasses);
    std::map<std::string_view, uint64_t> numbers;
    for (const std::string &name : names)
      numbers.emplace(name, numbers.size());
    for (size_t i = 0; i < tasks_.size(); ++i)
      if (tasks_[i].use == use)
        eachCell(tasks_[i], [&](uint64_t &cell) {
          cell = numbers.at(*byNumber[i][cell]);
        });
    return {};
  }

  const ParquetTable &table_;
  const ClassNumbers &classes_;
  BadSamples bad_;
  std::shared_ptr<ParquetRows> rows_;
  std::vector<ParquetTask> tasks_;
  uint64_t count_ = 0;
  bool isAllBad_ = false;
};

} // namespace

Result<std::shared_ptr<const TableRows>>
ParquetTable::rows(const std::vector<ColumnUse> &uses,
                   const ClassNumbers &classes, BadSamples bad) const {
  return ParquetDecoder(*this, classes, bad).run(uses, held_);
}

} // namespace dlc
