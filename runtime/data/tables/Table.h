// SPDX-License-Identifier: Apache-2.0
// A table in files of any format: its columns, and the rows that samples are
// made of.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/numbers/DType.h"
#include "runtime/data/SampleOptions.h"

#include <map>
#include <memory>
#include <set>
#include <span>

namespace dlc {

// No column has more names of classes.
constexpr size_t kMostClasses = 1 << 16;

// What is wanted of a column: numbers, or a label, which may be the name of a
// class, one of those given if any are.
struct ColumnUse {
  size_t column = 0;
  bool isLabel = false;
};

// What was found in it.
struct ColumnFacts {
  bool isWhole = true;         // all numbers are
  bool isNamed = false;        // its values are names of classes
  std::set<std::string> names; // these, if none were given
  std::vector<int64_t> shape;  // of a value: of lists; empty: one number
};

using ClassNumbers = std::map<std::string, int64_t, std::less<>>;

// Uses side by side, as the entries of an array's row.
struct UsesOfArray {
  size_t first = 0, count = 0;
  DType dtype = DType::F64; // or I64
  bool isNamed = false;
};

// Rows that have been found to be as is wanted. Immutable; any thread may read.
class TableRows {
public:
  virtual ~TableRows() = default;

  int64_t count() const { return count_; }
  const std::vector<ColumnFacts> &facts() const { return facts_; } // by use
  // Whether reading costs no more than memory.
  virtual bool isDecoded() const = 0;
  // A row's entries of 64 bits each, one column behind the other; names by
  // `classes`. An error names the place.
  virtual Status read(int64_t row, const UsesOfArray &uses,
                      const ClassNumbers &classes, std::byte *to) const = 0;

protected:
  int64_t count_ = 0;
  std::vector<ColumnFacts> facts_;
};

// Immutable; any thread may read.
class TableFiles {
public:
  virtual ~TableFiles() = default;

  // What messages call it: what was asked for.
  const std::string &name() const { return name_; }
  // Names may be empty.
  const std::vector<std::string> &columns() const { return columns_; }
  virtual std::vector<std::string> paths() const = 0;
  // Reads all rows, on all cores. What cannot be used as is wanted (no value,
  // no number, none of `classes`, ...) is an error by its place, or left out,
  // with a warning.
  virtual Result<std::shared_ptr<const TableRows>>
  rows(const std::vector<ColumnUse> &uses, const ClassNumbers &classes,
       BadSamples bad) const = 0;

protected:
  std::string name_;
  std::vector<std::string> columns_;
};

// Whether `path` means tables, by its name.
bool isTable(const std::string &path);

// Files of what `path` names: one, numbered ones (Range.h), or several with
// commas between them.
Result<std::vector<std::string>> filesOfTable(const std::string &path);

// Whether they are Parquet's; an error if some are and others are not.
Result<bool> areParquet(const std::vector<std::string> &files);

// Code::Failed if two columns have one name.
Status checkColumnNames(std::vector<std::string> names);

// "; --bad-samples=skip ..." or the warning that rows are left out; `first`
// says where and why.
Status badRow(const std::string &first);
void warnOfBadRows(const std::string &table, int64_t bad, int64_t rows,
                   const std::string &first);

} // namespace dlc
