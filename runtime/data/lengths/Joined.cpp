// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/lengths/Joined.h"

#include "runtime/base/Text.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/data/Convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dlc {
namespace {

using Sources = std::vector<std::shared_ptr<const Source>>;

class JoinedRows final : public RowReader {
public:
  // `firsts`: number of rows before each source.
  JoinedRows(std::vector<std::shared_ptr<const RowReader>> rows,
             std::vector<int64_t> firsts)
      : rows_(std::move(rows)), firsts_(std::move(firsts)) {}

private:
  template <class F>
  auto in(int64_t row, const TrainingPass *pass, F &&act) const {
    const auto part =
        size_t(std::ranges::upper_bound(firsts_, row) - firsts_.begin() - 1);
    const int64_t own = row - firsts_[part];
    if (!pass || part == 0)
      return act(*rows_[part], own, pass);
    // Equal row numbers of different sources get different random numbers.
    const TrainingPass drawn{pass->seed + 0x9e3779b97f4a7c15 * part,
                             pass->epoch};
    return act(*rows_[part], own, &drawn);
  }

public:
  Status read(int64_t row, const TrainingPass *pass,
              std::byte *to) const override {
    return in(row, pass, [&](auto &rows, int64_t own, auto *drawn) {
      return rows.read(own, drawn, to);
    });
  }
  std::string placeOf(int64_t row, const TrainingPass *pass) const override {
    return in(row, pass, [](auto &rows, int64_t own, auto *drawn) {
      return rows.placeOf(own, drawn);
    });
  }

private:
  std::vector<std::shared_ptr<const RowReader>> rows_;
  std::vector<int64_t> firsts_;
};

class JoinedSource final : public Source {
public:
  JoinedSource(Sources sources, std::set<std::string> shared)
      : sources_(std::move(sources)), shared_(std::move(shared)) {}

  std::string name() const override {
    return joined(sources_, ",", &Source::name);
  }
  std::vector<std::string> keys() const override { return sources_[0]->keys(); }
  Result<Array> head(const std::string &key) const override {
    DLC_ASSIGN(Array head, sources_[0]->head(key));
    if (!shared_.contains(key))
      for (size_t i = 1; i < sources_.size(); ++i) {
        DLC_ASSIGN(const Array next, sources_[i]->head(key));
        head.shape[0] += next.rows();
      }
    return head;
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    if (shared_.contains(key))
      return sources_[0]->rows(key);
    std::vector<std::shared_ptr<const RowReader>> all;
    std::vector<int64_t> firsts;
    int64_t first = 0;
    for (const auto &source : sources_) {
      DLC_ASSIGN(const Array head, source->head(key));
      DLC_ASSIGN(all.emplace_back(), source->rows(key));
      firsts.push_back(first);
      first += head.rows();
    }
    return std::make_shared<const JoinedRows>(std::move(all),
                                              std::move(firsts));
  }
  std::vector<std::string> classes() const override {
    return sources_[0]->classes();
  }
  std::string nameOf(int64_t row) const override {
    return ownerOf(row).nameOf(row);
  }
  bool isReplaced(int64_t row) const override {
    return ownerOf(row).isReplaced(row);
  }
  bool isSlow() const override {
    return std::ranges::any_of(
        sources_, [](const auto &source) { return source->isSlow(); });
  }
  Result<std::string> hash(int threads) const override {
    return hashOf(sources_, threads);
  }

private:
  // The source of a row, which becomes the row number in that source.
  const Source &ownerOf(int64_t &row) const {
    for (const std::string &key : sources_[0]->keys())
      if (!shared_.contains(key))
        for (const auto &source : sources_) {
          const auto head = source->head(key);
          if (!head || row < head->rows())
            return *source;
          row -= head->rows();
        }
    return *sources_[0];
  }

  Sources sources_;
  std::set<std::string> shared_;
};

Status checkSame(const Source &a, const Source &b, const std::string &key,
                 bool isShared) {
  DLC_ASSIGN(const Array x, a.head(key));
  DLC_ASSIGN(const Array y, b.head(key));
  const auto kind = [&](const Array &array) {
    Array kind{array.dtype, array.shape, {}};
    if (!isShared && !kind.shape.empty())
      kind.shape[0] = 0;
    return std::pair(kind.dtype, kind.shape);
  };
  if (kind(x) != kind(y))
    return failed("'{}' is {} in '{}', but {} in '{}': files of one run have "
                  "the same arrays",
                  printable(key), describe(x.dtype, x.shape), a.name(),
                  describe(y.dtype, y.shape), b.name());
  if (!isShared)
    return {};
  DLC_ASSIGN(const auto rows, a.rows(key));
  DLC_ASSIGN(const auto other, b.rows(key));
  const uint64_t bytes = checkedElements(x.shape).value_or(0) * sizeOf(x.dtype);
  if (rows->all() && other->all() &&
      std::memcmp(rows->all(), other->all(), bytes) == 0)
    return {};
  return failed("'{}' is the same for all samples, but differs between '{}' "
                "and '{}'",
                printable(key), a.name(), b.name());
}

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

class RenamedSource final : public SourceOver {
public:
  RenamedSource(std::shared_ptr<const Source> source,
                std::map<std::string, std::string> names)
      : SourceOver(std::move(source)), names_(std::move(names)) {}

  std::vector<std::string> keys() const override {
    std::vector<std::string> keys = source_->keys();
    for (const auto &[key, name] : names_)
      std::ranges::replace(keys, name, key);
    return keys;
  }
  Result<Array> head(const std::string &key) const override {
    return source_->head(nameIn(key));
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    return source_->rows(nameIn(key));
  }

private:
  std::string nameIn(const std::string &key) const {
    const auto found = names_.find(key);
    return found == names_.end() ? key : found->second;
  }

  std::map<std::string, std::string> names_; // by name of the input
};

} // namespace

Result<std::shared_ptr<const Source>>
joinedSource(Sources sources, const std::vector<std::string> &keys,
             const std::set<std::string> &shared) {
  if (sources.size() == 1)
    return sources[0];
  for (size_t i = 1; i < sources.size(); ++i)
    for (const std::string &key : keys)
      DLC_TRY(checkSame(*sources[0], *sources[i], key, shared.contains(key)));
  return std::make_shared<const JoinedSource>(std::move(sources), shared);
}

Result<std::string>
hashOf(std::span<const std::shared_ptr<const Source>> sources, int threads) {
  std::string all;
  for (const auto &source : sources) {
    DLC_ASSIGN(const std::string hash, source->hash(threads));
    all += (all.empty() ? "" : "+") + hash;
  }
  return all;
}

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

std::string columnsText(const std::string &text) {
  if (text.find(':') != text.npos || text.find('=') == text.npos)
    return text;
  std::string columns;
  for (const std::string_view found : splitAt(text, ',')) {
    std::string part(found);
    const size_t equals = part.find('=');
    if (equals != part.npos)
      part[equals] = ':';
    if (!columns.empty())
      columns += equals == part.npos ? ',' : ';';
    columns += part;
  }
  return columns;
}

std::shared_ptr<const Source> renamed(std::shared_ptr<const Source> source,
                                      const std::string &columns) {
  std::map<std::string, std::string> names;
  for (const std::string_view part : splitAt(columns, ';'))
    if (const size_t colon = part.find(':'); colon != part.npos)
      if (const std::string name(part.substr(colon + 1)); source->has(name))
        names[std::string(part.substr(0, colon))] = name;
  if (names.empty())
    return source;
  return std::make_shared<const RenamedSource>(std::move(source),
                                               std::move(names));
}

} // namespace dlc
