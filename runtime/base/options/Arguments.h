// SPDX-License-Identifier: Apache-2.0
// Values with arguments: NAME(KEY=VALUE,KEY=[A,B],KEY).
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace dlc {

struct Argument {
  std::string kind, key;          // NAME and KEY, with `_` for `-`
  std::vector<std::string> words; // of a key without value: "true"
};

// Removes the parentheses after each of `kinds` from `text` and parses them:
// "a:focal(gamma=2),b:mse" becomes "a:focal,b:mse". Other parentheses are kept.
// Code::Usage for arguments in another form.
Result<std::vector<Argument>>
takeArguments(std::string &text, const std::vector<std::string> &kinds);

} // namespace dlc
