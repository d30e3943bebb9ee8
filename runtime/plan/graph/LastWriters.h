// SPDX-License-Identifier: Apache-2.0
// Tracks which command last wrote each byte of a region.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>

namespace dlc::plan {

// Ranges are [begin, end). The time of a write or a read is linear in the
// number of earlier ranges that it overlaps; a write leaves at most two.
class LastWriters {
public:
  void write(uint64_t begin, uint64_t end, int who) {
    if (begin >= end)
      return;
    cut(begin);
    cut(end);
    ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
    ranges_[begin] = {end, who};
  }

  // Writes only where nothing has been written.
  void writeGaps(uint64_t begin, uint64_t end, int who) {
    auto next = firstIn(begin);
    while (begin < end) {
      const uint64_t gap =
          next == ranges_.end() ? end : std::min(end, next->first);
      if (begin < gap)
        ranges_[begin] = {gap, who};
      if (next == ranges_.end())
        return;
      begin = std::max(begin, next->second.end);
      ++next;
    }
  }

  // Adds all who wrote a byte of the range.
  void read(uint64_t begin, uint64_t end, std::set<int> &who) const {
    if (begin >= end)
      return;
    for (auto at = firstIn(begin); at != ranges_.end() && at->first < end; ++at)
      who.insert(at->second.who);
  }

private:
  struct Range {
    uint64_t end;
    int who;
  };
  using Ranges = std::map<uint64_t, Range>; // by begin; disjoint

  // The first range that ends after `begin`.
  Ranges::const_iterator firstIn(uint64_t begin) const {
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second.end > begin)
      --at;
    return at;
  }
  // Splits the range that contains `place`.
  void cut(uint64_t place) {
    auto at = ranges_.lower_bound(place);
    if (at == ranges_.begin())
      return;
    Range &before = std::prev(at)->second;
    if (before.end <= place)
      return;
    ranges_.emplace_hint(at, place, before);
    before.end = place;
  }

  Ranges ranges_;
};

} // namespace dlc::plan
