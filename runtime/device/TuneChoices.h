// What one rank chose among algorithms, for the others to choose the same.
#pragma once

#include "runtime/device/TuneCache.h"

#include <map>

namespace dlc {

// One thread uses it at a time.
class TuneChoices {
public:
  // The choice for a key: an entry, or that there was none and the library's
  // first choice is taken.
  using Choice = std::optional<TuneEntry>;

  void add(const TuneKey &key, Choice choice);
  const Choice *find(const TuneKey &key) const; // null: nobody has chosen

  std::string toText() const;
  // Those of another rank: from now on nothing is measured here. Corrupt if it
  // is not what toText() gives.
  Status adopt(std::string_view text);
  bool areAdopted() const { return adopted_; }

private:
  struct Made {
    TuneKey key;
    Choice choice;
  };
  std::map<std::string, Made> made_; // by id
  bool adopted_ = false;
};

} // namespace dlc
