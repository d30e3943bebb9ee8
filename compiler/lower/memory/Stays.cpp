// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/memory/Stays.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace dlc {
namespace {

class StayPlanner {
public:
  StayPlanner(llvm::ArrayRef<TimedUse> uses, size_t most)
      : uses(uses), most(most), next(uses.size(), kNever) {
    llvm::DenseMap<size_t, size_t> later;
    for (size_t i = uses.size(); i-- > 0;) {
      auto [at, isNew] = later.try_emplace(uses[i].what, i);
      if (!isNew)
        next[i] = std::exchange(at->second, i);
    }
  }

  std::vector<Stay> run() {
    int64_t begin = 0;
    for (size_t i = 0; i < uses.size();) {
      size_t end = i;
      while (end < uses.size() && uses[end].command == uses[i].command)
        ++end;
      ahead = std::max(ahead, i);
      fetchAhead(begin);
      for (; ahead < end; ++ahead) // more than `most` are used
        if (!resident.contains(uses[ahead].what))
          fetch(ahead, begin);
      for (; i < end; ++i)
        use(i);
      while (resident.size() > most)
        drop(lastNeeded());
      begin = uses[i - 1].command + 1;
    }
    return std::move(stays);
  }

private:
  static constexpr size_t kNever = SIZE_MAX;
  struct Resident {
    size_t stay, nextUse; // of uses
  };
  using Residents = llvm::DenseMap<size_t, Resident>;

  /// Fetches what is used next and not resident, as long as there is room, or a
  /// resident one whose next use is later.
  void fetchAhead(int64_t begin) {
    for (; ahead < uses.size(); ++ahead) {
      if (resident.contains(uses[ahead].what))
        continue;
      if (resident.size() >= most) {
        auto farthest = lastNeeded();
        if (farthest->second.nextUse <= ahead)
          return;
        drop(farthest);
      }
      fetch(ahead, begin);
    }
  }
  Residents::iterator lastNeeded() {
    auto farthest = resident.begin();
    for (auto it = resident.begin(); it != resident.end(); ++it)
      if (it->second.nextUse > farthest->second.nextUse ||
          (it->second.nextUse == farthest->second.nextUse &&
           it->second.stay < farthest->second.stay))
        farthest = it;
    return farthest;
  }
  void drop(Residents::iterator it) {
    ahead = std::min(ahead, it->second.nextUse);
    resident.erase(it);
  }
  void fetch(size_t i, int64_t begin) {
    resident[uses[i].what] = {stays.size(), i};
    stays.push_back({uses[i].what, begin, uses[i].command, uses[i].command});
  }
  void use(size_t i) {
    Resident &there = resident.find(uses[i].what)->second;
    stays[there.stay].last = uses[i].command;
    there.nextUse = next[i];
  }

  llvm::ArrayRef<TimedUse> uses;
  const size_t most;
  std::vector<size_t> next; // next use of the same, by use
  Residents resident;
  std::vector<Stay> stays;
  size_t ahead = 0; // all earlier uses are resident
};

} // namespace

std::vector<Stay> planStays(llvm::ArrayRef<TimedUse> uses, size_t most) {
  return StayPlanner(uses, most).run();
}

} // namespace dlc
