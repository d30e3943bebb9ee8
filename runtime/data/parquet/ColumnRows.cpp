// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/parquet/ColumnRows.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Mapping.h"

#include <algorithm>

namespace dlc {
namespace {

// Where in lists of a shape an entry begins which level: as Parquet repeats.
uint32_t repetitionAt(uint64_t entry, std::span<const int64_t> shape) {
  auto level = uint32_t(shape.size());
  for (size_t i = shape.size(); i-- > 0; --level) {
    const auto length = uint64_t(shape[i]);
    if (length == 0 || entry % length != 0)
      return level;
    entry /= length;
  }
  return 0;
}

// Puts a column's entries together to rows.
class RowBuilder {
public:
  RowBuilder(const ParquetColumn &column, std::span<const int64_t> shape,
             const TakeRow &take)
      : column_(column), shape_(shape), take_(take) {
    for (const int64_t length : shape)
      expected_ *= uint64_t(length);
  }

  // False: no more are wanted.
  bool add(const ColumnPage &page) {
    size_t value = 0;
    for (size_t i = 0; i < page.entries; ++i) {
      const uint32_t level = page.repetition.empty() ? 0 : page.repetition[i];
      if (level == 0 && !finish())
        return false;
      if (!hasBegun_ && level > 0)
        row_.hasShape = false; // before any row
      hasBegun_ = true;
      row_.hasShape &= row_.entries < expected_ &&
                       level == repetitionAt(row_.entries, shape_);
      ++row_.entries;
      const bool isThere = page.definition.empty() ||
                           page.definition[i] == column_.mostDefinition;
      row_.isMissing |= !isThere;
      if (isThere)
        keep(page.values, value++);
    }
    return true;
  }
  bool finish() {
    if (!hasBegun_)
      return true;
    row_.hasShape &= row_.entries == expected_;
    const bool more = take_(rows_++, row_, {whole_, numbers_, texts_});
    row_ = {};
    hasBegun_ = false;
    whole_.clear(), numbers_.clear(), texts_.clear();
    return more;
  }
  uint64_t rows() const { return rows_; }

private:
  void keep(const StoredValues &values, size_t at) {
    if (!row_.hasShape)
      return;
    if (!values.texts.empty())
      texts_.emplace_back(values.texts[at]);
    else if (!values.numbers.empty())
      numbers_.push_back(values.numbers[at]);
    else
      whole_.push_back(values.whole[at]);
  }

  const ParquetColumn &column_;
  std::span<const int64_t> shape_;
  const TakeRow &take_;
  uint64_t expected_ = 1, rows_ = 0;
  bool hasBegun_ = false;
  ColumnRow row_;
  std::vector<int64_t> whole_;
  std::vector<double> numbers_;
  std::vector<std::string> texts_;
};

// Lengths of the lists of a row, by the levels of its entries.
class ShapeFinder {
public:
  explicit ShapeFinder(size_t levels) : lengths_(levels, 0) {}

  // The first list of each depth counts, until one around it goes on.
  void add(uint32_t level) {
    if (level == 0)
      std::fill(lengths_.begin(), lengths_.end(), 1);
    else if (level <= least_)
      ++lengths_[level - 1];
    least_ = level == 0 ? UINT32_MAX : std::min(least_, level);
  }
  const std::vector<int64_t> &lengths() const { return lengths_; }

private:
  std::vector<int64_t> lengths_;
  uint32_t least_ = UINT32_MAX;
};

} // namespace

Status readRows(const ParquetFile &file, size_t column, size_t group,
                std::span<const int64_t> shape, const TakeRow &take) {
  PageReader pages(file, column, group);
  RowBuilder rows(file.columns[column], shape, take);
  ColumnPage page;
  bool isWanted = true;
  while (isWanted) {
    DLC_ASSIGN(const bool found, pages.next(page));
    if (!found)
      break;
    isWanted = rows.add(page);
  }
  isWanted = isWanted && rows.finish();
  const ParquetChunk &chunk = file.groups[group].chunks[column];
  releaseMapped(file.file.bytes().data() + chunk.begin, chunk.size);
  if (!isWanted)
    return {};
  if (rows.rows() != file.groups[group].rows)
    return failed("'{}': column '{}': {} rows in a group that has {}",
                  file.file.path(), printable(file.columns[column].name),
                  rows.rows(), file.groups[group].rows);
  return {};
}

Result<std::vector<int64_t>> shapeOfRows(const ParquetFile &file,
                                         size_t column) {
  const ParquetColumn &of = file.columns[column];
  for (size_t group = 0; group < file.groups.size(); ++group) {
    PageReader pages(file, column, group);
    ColumnPage page;
    ShapeFinder row(of.mostRepetition);
    bool isMissing = true; // there is none yet
    for (;;) {
      DLC_ASSIGN(const bool found, pages.next(page));
      if (!found)
        break;
      for (size_t i = 0; i < page.entries; ++i) {
        const uint32_t level = page.repetition.empty() ? 0 : page.repetition[i];
        if (level == 0) {
          if (!isMissing)
            return row.lengths();
          row = ShapeFinder(of.mostRepetition);
          isMissing = false;
        }
        isMissing |=
            !page.definition.empty() && page.definition[i] != of.mostDefinition;
        row.add(level);
      }
    }
    if (!isMissing)
      return row.lengths();
  }
  return std::vector<int64_t>(of.mostRepetition, 0);
}

} // namespace dlc
