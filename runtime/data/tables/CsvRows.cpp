// SPDX-License-Identifier: Apache-2.0
// Rows of text, parsed as they are read.
#include "runtime/data/tables/CsvFiles.h"

#include <algorithm>
#include <cstring>

namespace dlc {
namespace {

class CsvRows final : public TableRows {
public:
  CsvRows(std::shared_ptr<const CsvFiles> files, std::vector<ColumnUse> uses,
          CsvPlaces found)
      : files_(std::move(files)), uses_(std::move(uses)),
        places_(std::move(found.places)) {
    facts_ = std::move(found.facts);
    for (const auto &places : places_)
      ends_.push_back(count_ += int64_t(places.size()));
  }

  bool isDecoded() const override { return false; }

  Status read(int64_t row, const UsesOfArray &uses, const ClassNumbers &classes,
              std::byte *to) const override {
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
    for (size_t i = 0; i < uses.count; ++i) {
      if (!write(record, uses_[uses.first + i].column, uses, classes, to))
        return failed("{} has changed", files_->placeOf(file, at));
      to += sizeof(int64_t);
    }
    return {};
  }

private:
  static bool write(const CsvRecord &record, size_t column,
                    const UsesOfArray &uses, const ClassNumbers &classes,
                    std::byte *to) {
    if (uses.isNamed) {
      const auto found = classes.find(record.text(column));
      if (found == classes.end())
        return false;
      std::memcpy(to, &found->second, sizeof found->second);
      return true;
    }
    const CsvValue value = csvValue(record.raw(column));
    if (value.kind != CsvKind::Whole &&
        (value.kind != CsvKind::Number || uses.dtype == DType::I64))
      return false;
    if (uses.dtype == DType::I64)
      std::memcpy(to, &value.whole, sizeof value.whole);
    else
      std::memcpy(to, &value.number, sizeof value.number);
    return true;
  }

  std::shared_ptr<const CsvFiles> files_;
  std::vector<ColumnUse> uses_;
  std::vector<std::vector<uint64_t>> places_;
  std::vector<int64_t> ends_; // rows up to the end of each file
};

} // namespace

Result<std::shared_ptr<const TableRows>>
CsvFiles::rows(const std::vector<ColumnUse> &uses, const ClassNumbers &classes,
               BadSamples bad) const {
  DLC_ASSIGN(CsvPlaces found, scanRows(*this, uses, classes, bad));
  return std::make_shared<const CsvRows>(shared_from_this(), uses,
                                         std::move(found));
}

} // namespace dlc
