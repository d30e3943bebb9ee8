// SPDX-License-Identifier: Apache-2.0
// Option that selects a session's set of averages.
#pragma once

#include "runtime/base/options/OptionTable.h"

namespace dlc {

// --ema, --ema=2: number of the set of averages; 0: none.
inline Option &addAverages(OptionTable &table, std::string key, int &set) {
  Option &row = table.add(std::move(key),
                          "moving averages in place of the weights; --ema=2: "
                          "the second set of averages",
                          "");
  row.set = [&set](auto &words) -> Status {
    DLC_ASSIGN(const std::string word, oneWord(words));
    DLC_ASSIGN(const int64_t number,
               parseCount(word == "true" ? "1" : word, 0, 1 << 20));
    set = int(number);
    return {};
  };
  row.get = [&set] { return Words{std::to_string(set)}; };
  return row;
}

} // namespace dlc
