// SPDX-License-Identifier: Apache-2.0
// What one rank chose among algorithms, for the others to choose the same.
#pragma once

#include "runtime/device/TuneCache.h"

#include <map>
#include <vector>

namespace dlc {

// One thread uses it at a time.
class TuneChoices {
public:
  // The choice for a key: an entry, or that there was none and the library's
  // first choice is taken.
  using Choice = std::optional<TuneEntry>;

  // `command`: what it is for, as messages name it; commands that are alike
  // share a choice.
  void add(const TuneKey &key, Choice choice, std::string_view command);
  // One more command for a key that is there.
  void addCommand(const TuneKey &key, std::string_view command);
  const Choice *find(const TuneKey &key) const; // null: nobody has chosen
  // What was measured for a key that is there, in the library's order;
  // infinite milliseconds: it did not start, or cannot be recorded.
  void addMeasured(const TuneKey &key, std::vector<TuneEntry> candidates);

  std::string toText() const;
  // For people, in the order in which they were made: {"commands", "op",
  // "engine" (null: the library's first choice), "knobs", "milliseconds",
  // "workspace", "date", "measured"}; the last, of what this rank measured
  // now: a list of {"number" (in the library's order, from 0), "engine",
  // "knobs", "milliseconds"}, the fastest first.
  Json describe() const;
  bool isEmpty() const { return made_.empty(); }
  // Those of another rank: from now on nothing is measured here. Corrupt if it
  // is not what toText() gives.
  Status adopt(std::string_view text);
  bool areAdopted() const { return adopted_; }

private:
  struct Made {
    TuneKey key;
    Choice choice;
    std::vector<std::string> commands;
    std::vector<TuneEntry> measured;
    size_t number = 0; // of those before
  };
  std::map<std::string, Made> made_; // by id
  bool adopted_ = false;
};

} // namespace dlc
