// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/memory/Scratch.h"
#include "compiler/lower/memory/StateLayout.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <numeric>
#include <queue>
#include <set>

namespace dlc {
namespace {

/// Free ranges of the arena, coalesced, by offset and by size.
class FreeList {
public:
  int64_t take(int64_t bytes) {
    auto fit = bySize.lower_bound({bytes, 0});
    if (fit == bySize.end())
      return grow(bytes);
    auto [size, offset] = *fit;
    erase(offset);
    if (size > bytes)
      insert(offset + bytes, size - bytes);
    return offset;
  }
  void give(int64_t offset, int64_t bytes) {
    auto next = byOffset.lower_bound(offset);
    if (next != byOffset.end() && next->first == offset + bytes) {
      bytes += next->second;
      erase(next->first);
    }
    auto before = byOffset.lower_bound(offset);
    if (before != byOffset.begin() &&
        std::prev(before)->first + std::prev(before)->second == offset) {
      --before;
      offset = before->first;
      bytes += before->second;
      erase(offset);
    }
    insert(offset, bytes);
  }
  int64_t size() const { return top; }

private:
  int64_t grow(int64_t bytes) {
    int64_t offset = top;
    if (!byOffset.empty() &&
        byOffset.rbegin()->first + byOffset.rbegin()->second == top) {
      offset = byOffset.rbegin()->first;
      erase(offset);
    }
    top = offset + bytes;
    return offset;
  }
  void insert(int64_t offset, int64_t bytes) {
    byOffset[offset] = bytes;
    bySize.insert({bytes, offset});
  }
  void erase(int64_t offset) {
    auto it = byOffset.find(offset);
    bySize.erase({it->second, offset});
    byOffset.erase(it);
  }
  std::map<int64_t, int64_t> byOffset;
  std::set<std::pair<int64_t, int64_t>> bySize;
  int64_t top = 0;
};

/// Best fit in order of begin; returns the arena's size.
int64_t fitByBirth(llvm::MutableArrayRef<LiveRange> ranges) {
  std::vector<LiveRange *> births;
  for (LiveRange &r : ranges)
    births.push_back(&r);
  std::stable_sort(
      births.begin(), births.end(),
      [](LiveRange *a, LiveRange *b) { return a->begin < b->begin; });
  auto later = [](LiveRange *a, LiveRange *b) { return a->end > b->end; };
  std::priority_queue<LiveRange *, std::vector<LiveRange *>, decltype(later)>
      alive(later);
  FreeList free;
  for (LiveRange *r : births) {
    for (; !alive.empty() && alive.top()->end < r->begin; alive.pop())
      free.give(alive.top()->offset, alive.top()->bytes);
    r->offset = free.take(r->bytes);
    alive.push(r);
  }
  return free.size();
}

/// Best fit in order of decreasing size. O(n * n).
int64_t fitBySize(llvm::MutableArrayRef<LiveRange> ranges) {
  std::vector<LiveRange *> order;
  for (LiveRange &r : ranges)
    order.push_back(&r);
  llvm::stable_sort(
      order, [](LiveRange *a, LiveRange *b) { return a->bytes > b->bytes; });
  std::vector<LiveRange *> placed; // by offset
  int64_t size = 0;
  for (LiveRange *r : order) {
    int64_t end = 0, best = -1, least = INT64_MAX;
    for (const LiveRange *other : placed) {
      if (other->end < r->begin || r->end < other->begin)
        continue;
      if (const int64_t gap = other->offset - end;
          gap >= r->bytes && gap < least)
        std::tie(best, least) = std::pair(end, gap);
      end = std::max(end, other->offset + other->bytes);
    }
    r->offset = best < 0 ? end : best;
    size = std::max(size, r->offset + r->bytes);
    placed.insert(llvm::upper_bound(placed, r,
                                    [](LiveRange *a, LiveRange *b) {
                                      return a->offset < b->offset;
                                    }),
                  r);
  }
  return size;
}

/// The best of: best fit in order of begin; in order of end, backwards; and, up
/// to a number of buffers, in order of size.
int64_t fit(llvm::MutableArrayRef<LiveRange> ranges) {
  constexpr size_t kMostBySize = 4096;
  std::vector<LiveRange> best(ranges.begin(), ranges.end());
  for (LiveRange &r : best)
    r.bytes = alignUp(std::max<int64_t>(r.bytes, 1));
  std::vector<LiveRange> backward = best, large = best;
  for (LiveRange &r : backward)
    std::tie(r.begin, r.end) = std::pair(-r.end, -r.begin);
  int64_t size = fitByBirth(best);
  auto consider = [&](int64_t other, std::vector<LiveRange> &placed) {
    if (other < size) {
      size = other;
      best = std::move(placed);
    }
  };
  consider(fitByBirth(backward), backward);
  if (ranges.size() <= kMostBySize)
    consider(fitBySize(large), large);
  for (auto [range, placed] : llvm::zip(ranges, best))
    range.offset = placed.offset;
  return size;
}

/// In order of begin, buffers alternate between a few places, each as large as
/// its largest buffer: if sizes are similar and few are live at once, there is
/// no fragmentation. O(n * places).
int64_t takeTurns(llvm::MutableArrayRef<LiveRange> ranges) {
  struct Shared {
    int64_t bytes, until;
  };
  std::vector<Shared> places;
  std::vector<size_t> order(ranges.size()), taken(ranges.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return ranges[a].begin < ranges[b].begin;
  });
  for (size_t each : order) {
    const LiveRange &range = ranges[each];
    const int64_t bytes = alignUp(range.bytes);
    // The free place that must grow least, or wastes least.
    size_t best = places.size();
    for (size_t i = 0; i < places.size(); ++i)
      if (places[i].until < range.begin &&
          (best == places.size() || std::abs(places[i].bytes - bytes) <
                                        std::abs(places[best].bytes - bytes)))
        best = i;
    if (best == places.size())
      places.push_back({0, 0});
    places[best] = {std::max(places[best].bytes, bytes), range.end};
    taken[each] = best;
  }
  int64_t end = 0;
  for (Shared &place : places)
    place.until = std::exchange(end, end + place.bytes); // becomes its offset
  for (auto [range, place] : llvm::zip(ranges, taken))
    range.offset = places[place].until;
  return end;
}

} // namespace

int64_t assignOffsets(llvm::MutableArrayRef<LiveRange> ranges, size_t alike) {
  const int64_t together = fit(ranges);
  std::vector<LiveRange> others(ranges.begin(), ranges.end() - alike),
      turns(ranges.end() - alike, ranges.end()), fitted = turns;
  if (turns.empty())
    return together;
  const int64_t base = fit(others), places = takeTurns(turns),
                bytes = fit(fitted), end = base + std::min(places, bytes);
  if (end >= together)
    return together;
  for (auto [range, placed] : llvm::zip(ranges, others))
    range.offset = placed.offset;
  for (auto [range, placed] :
       llvm::zip(ranges.take_back(alike), places < bytes ? turns : fitted))
    range.offset = base + placed.offset;
  return end;
}

} // namespace dlc
