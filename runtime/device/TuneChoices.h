// SPDX-License-Identifier: Apache-2.0
// The algorithms that one rank has chosen, so that other ranks use the same.
#pragma once

#include "runtime/device/TuneCache.h"

#include <map>
#include <vector>

namespace dlc {

// Not thread-safe.
class TuneChoices {
public:
  // The choice for a key: none for the library's first choice.
  using Choice = std::optional<TuneEntry>;

  // `command`: the command's name in messages; equal commands share a choice.
  void add(const TuneKey &key, Choice choice, std::string_view command);
  // Adds a command to an existing key.
  void addCommand(const TuneKey &key, std::string_view command);
  const Choice *find(const TuneKey &key) const; // null: no choice yet
  // Adds the measurements for an existing key, in the library's order; infinite
  // milliseconds mean that the algorithm did not start, or cannot be recorded.
  void addMeasured(const TuneKey &key, std::vector<TuneEntry> candidates);

  std::string toText() const;
  // For users, in the order in which choices were made: {"commands", "op",
  // "engine" (null: the library's first choice), "knobs", "milliseconds",
  // "workspace", "date", "measured"}. "measured" lists the measurements of this
  // rank: {"number" (in the library's order, from 0), "engine", "knobs",
  // "milliseconds"}, the fastest first.
  Json describe() const;
  bool isEmpty() const { return made_.empty(); }
  // Takes over the choices of another rank; nothing is measured here
  // afterwards. Corrupt if the text is not from toText().
  Status adopt(std::string_view text);
  bool areAdopted() const { return adopted_; }

private:
  struct Made {
    TuneKey key;
    Choice choice;
    std::vector<std::string> commands;
    std::vector<TuneEntry> measured;
    size_t number = 0; // number of earlier choices
  };
  std::map<std::string, Made> made_; // by id
  bool adopted_ = false;
};

} // namespace dlc
