// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/lengths/Joined.h"

#include "runtime/base/numbers/Checked.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/data/Convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dlc {
namespace {

// The bytes of one element.
Result<std::vector<std::byte>> valueAs(double value, DType type) {
  std::vector<std::byte> bytes(sizeOf(type));
  if (isFloat(type)) {
    converter(DType::F64, type, false)(
        reinterpret_cast<const std::byte *>(&value), bytes.data(), 1, 1);
    return bytes;
  }
  // f64 represents all integers up to 2^53; larger padding is not supported.
  const double most = 9007199254740992.0;
  const IntegerRange range = rangeOf(type);
  if (value != std::floor(value) || std::abs(value) > most ||
      int64_t(value) < range.first || int64_t(value) > range.last)
    return usageError("{} is no {}", numberText(value), nameOf(type));
  const auto whole = int64_t(value);
  converter(DType::I64, type, false)(
      reinterpret_cast<const std::byte *>(&whole), bytes.data(), 1, 1);
  return bytes;
}

class PaddedRows final : public RowReader {
public:
  PaddedRows(std::shared_ptr<const RowReader> rows, std::vector<int64_t> from,
             std::vector<int64_t> to, std::vector<std::byte> value)
      : rows_(std::move(rows)), from_(std::move(from)), to_(std::move(to)),
        value_(std::move(value)) {}

  bool isInMemory() const override { return rows_->isInMemory(); }

  Status read(int64_t row, const TrainingPass *pass,
              std::byte *to) const override {
    thread_local std::vector<std::byte> room;
    room.resize(*checkedElements(from_) * value_.size());
    DLC_TRY(rows_->read(row, pass, room.data()));
    const uint64_t elements = *checkedElements(to_);
    for (uint64_t i = 0; i < elements; ++i)
      std::memcpy(to + i * value_.size(), value_.data(), value_.size());
    copy(0, room.data(), to);
    return {};
  }

private:
  // Copies axes from `axis` on, the last one contiguously.
  void copy(size_t axis, const std::byte *from, std::byte *to) const {
    if (axis + 1 >= from_.size()) {
      std::memcpy(to, from,
                  value_.size() * size_t(from_.empty() ? 1 : from_.back()));
      return;
    }
    uint64_t small = value_.size(), big = value_.size();
    for (size_t i = axis + 1; i < from_.size(); ++i)
      small *= uint64_t(from_[i]), big *= uint64_t(to_[i]);
    for (int64_t i = 0; i < from_[axis]; ++i)
      copy(axis + 1, from + uint64_t(i) * small, to + uint64_t(i) * big);
  }

  std::shared_ptr<const RowReader> rows_;
  std::vector<int64_t> from_, to_;
  std::vector<std::byte> value_;
};

struct KnownPadding {
  std::vector<int64_t> shape;
  std::vector<std::byte> value; // in the array's type
};

class PaddedSource final : public SourceOver {
public:
  PaddedSource(std::shared_ptr<const Source> source,
               std::map<std::string, KnownPadding> paddings)
      : SourceOver(std::move(source)), paddings_(std::move(paddings)) {}

  Result<Array> head(const std::string &key) const override {
    DLC_ASSIGN(Array head, source_->head(key));
    if (const auto found = paddings_.find(key); found != paddings_.end())
      std::ranges::copy(found->second.shape, head.shape.begin() + 1);
    return head;
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    DLC_ASSIGN(auto rows, source_->rows(key));
    const auto found = paddings_.find(key);
    if (found == paddings_.end())
      return rows;
    DLC_ASSIGN(const Array head, source_->head(key));
    return std::make_shared<const PaddedRows>(
        std::move(rows), sampleShape(head.shape), found->second.shape,
        found->second.value);
  }

private:
  std::map<std::string, KnownPadding> paddings_;
};

} // namespace

Result<std::shared_ptr<const Source>>
paddedSource(std::shared_ptr<const Source> source,
             const std::vector<Padding> &paddings) {
  std::map<std::string, KnownPadding> byKey;
  for (const Padding &padding : paddings) {
    DLC_ASSIGN(const Array head, source->head(padding.key));
    DLC_ASSIGN(auto value, valueAs(padding.value, head.dtype)
                               .withContext("--pad: '{}': '{}'", source->name(),
                                            padding.key));
    byKey[padding.key] = {padding.shape, std::move(value)};
  }
  return std::make_shared<const PaddedSource>(std::move(source),
                                              std::move(byKey));
}

} // namespace dlc
