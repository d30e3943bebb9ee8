// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/lengths/Joined.h"

#include "runtime/base/Text.h"
#include "runtime/base/numbers/Checked.h"

#include <algorithm>
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

} // namespace dlc
